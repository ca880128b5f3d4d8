"""The script that draws in a page."""

from pathlib import Path

import pytest
import vl_convert

from perjoule.figures import rendering


def test_it_is_bundled_once_for_each_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundled: list[str] = []

    def bundle(snippet: str, vl_version: str) -> str:
        bundled.append(vl_version)
        return f"{snippet} {len(bundled)} é"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    first = rendering.javascript()
    assert first == "window.vegaEmbed = vegaEmbed; 1 é"
    assert [rendering.javascript(), rendering.javascript()] == [first, first]
    monkeypatch.setattr(rendering, "version", lambda package: f"another {package}")
    assert rendering.javascript() != first
    (tmp_path / "perjoule" / "vega.js").write_text("alert()")
    assert rendering.javascript().startswith("window")
    assert bundled == [rendering.VERSION] * 3
