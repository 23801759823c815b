"""A system over a data set: scores, intervals, tests of differences, tables."""
