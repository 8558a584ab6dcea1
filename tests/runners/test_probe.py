from pathlib import Path

import pytest

from runners.cores import cpu_model, physical_cores
from runners.measure.facts import compiler_version, software_facts
from runners.probe import findings, this_hardware, this_machine


def test_a_machine_has_the_same_key_under_every_name(tmp_path: Path) -> None:
    (tmp_path / "id").write_text("0123\n")
    key = this_machine(tmp_path / "id").key
    assert key == this_machine(tmp_path / "id").key
    assert "0123" not in key
    assert len(key) == 16


def test_machines_with_other_ids_have_other_keys(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("0123")
    (tmp_path / "b").write_text("4567")
    assert this_machine(tmp_path / "a").key != this_machine(tmp_path / "b").key


def test_a_machine_without_an_id_is_known_by_its_hostname(tmp_path: Path) -> None:
    assert this_machine(tmp_path / "nothing").key == this_machine(tmp_path / "nothing").key


def test_hardware_names_what_decides_comparability() -> None:
    facts = dict(this_hardware(this_machine()).facts)
    assert set(facts) == {"machine", "cpu_model", "cores", "threads"}
    assert facts["threads"] == facts["cores"] == physical_cores()


def test_two_threads_of_one_core_are_one_core(tmp_path: Path) -> None:
    for cpu in range(4):
        topology = tmp_path / f"cpu{cpu}/topology"
        topology.mkdir(parents=True)
        (topology / "core_cpus_list").write_text(f"{cpu % 2},{cpu % 2 + 2}\n")
    assert physical_cores(tmp_path, {0, 1, 2, 3}) == 2
    assert physical_cores(tmp_path, {0, 2}) == 1


def test_cores_without_topology_count_each(tmp_path: Path) -> None:
    assert physical_cores(tmp_path, {0, 1, 5}) == 3


def test_the_model_is_read_from_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: Fast CPU @ 3 GHz\n")
    assert cpu_model(tmp_path / "cpuinfo") == "Fast CPU @ 3 GHz"


def test_software_facts_hold_versions_and_variables_but_no_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_FREEZING", "1")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/somewhere")
    monkeypatch.setenv("SECRET", "x")
    facts = software_facts()
    assert {"python", "torch", "numpy", "triton", "kernel", "glibc", "cxx"} <= set(facts)
    assert facts["TORCHINDUCTOR_FREEZING"] == "1"
    assert "TORCHINDUCTOR_CACHE_DIR" not in facts
    assert "SECRET" not in facts


def test_a_compiler_that_is_missing_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    assert compiler_version() is None


def test_the_doctor_hears_what_to_install_and_what_disturbs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr("os.getloadavg", lambda: (1000.0, 0.0, 0.0))
    found = {finding.name: finding for finding in findings()}
    assert "apt install g++" in found["C++ compiler"].action
    assert "apt install git" in found["git"].action
    assert not found["load"].is_ok


def test_a_quiet_machine_has_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    load = next(finding for finding in findings() if finding.name == "load")
    assert load.is_ok
    assert load.action == ""
