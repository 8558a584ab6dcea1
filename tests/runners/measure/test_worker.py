import sys
import sysconfig

from runners.measure.worker import import_order, is_standard


def test_our_packages_come_first_then_python_then_the_code_under_test_then_what_is_installed() -> None:
    library = sysconfig.get_path("stdlib")
    archive = f"/usr/lib/python{sys.version_info.major}{sys.version_info.minor}.zip"
    path = ["/packages", "/elsewhere", archive, library, f"{library}/lib-dynload", "/venv/site-packages", ""]
    assert import_order(path, ("/tree", "/tree/src")) == [
        "/packages",
        archive,
        library,
        f"{library}/lib-dynload",
        "/tree",
        "/tree/src",
        "/elsewhere",
        "/venv/site-packages",
    ]


def test_packages_installed_below_the_library_are_not_standard() -> None:
    assert not is_standard("/usr/lib/python3.11/site-packages", "/usr/lib/python3.11")
    assert not is_standard("/usr/lib/python3.11x", "/usr/lib/python3.11")
