"""Jobs: any number of dialogues summarized by several processes, each exactly once.

sources -> items -> shards -> groups of lines, summarized by workers -> parts -> sink
journal: which shards are done
"""
