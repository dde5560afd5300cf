"""How cost grows with each of the things that there may be many of.  See bench_growth.py."""
