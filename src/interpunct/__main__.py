"""`python -m interpunct` is the command."""

from interpunct.cli import main

if __name__ == "__main__":
    main()
