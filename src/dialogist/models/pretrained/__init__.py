"""Pretrained language models of the transformers library as our models (docs).

Nothing here imports transformers before such a model is loaded, except the modules `network`,
`sources` and `pruning`, which are imported then.
"""
