"""Blind comparison by people: the page, their answers, what these are worth."""
