"""The JSON of cloud recognisers, a module each. Read only.

In: what each service answers, with its own units and its own way of writing marks, speakers and channels.
Out: a transcript, or one for each channel where the channels are told apart. Times are converted in
decimal, so that 1300 ms are 1.3 s. Of alternatives the first is taken. A phrase that comes without words
is split at its spaces and keeps only the times that the service gave it.
"""
