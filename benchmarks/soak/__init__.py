"""The soak: a real server under moderate load for an hour, in which nothing may grow.

`make soak`, or `SOAK_SECONDS=180 make soak`.

`__main__` runs it: warm-up, rest, load, rest.  `stage` starts everything, `players` are the
clients, `samples` reads what the worker holds, `census` is asked from inside, `verdict` judges.
"""
