"""The rule packs of templates, each read once: trying a pack's examples takes a while."""

from functools import lru_cache

from dialogist.data.keypoints import RulePack, load_pack


@lru_cache(maxsize=16)
def pack_of(name_or_path: str) -> RulePack:
    """A rule pack as it was when first asked for.

    Raises:
        ConfigError: see `dialogist.data.keypoints.load_pack`.
    """
    return load_pack(name_or_path)
