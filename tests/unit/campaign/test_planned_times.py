"""What `check` says that studies take is about what they took, by the records of those that were published."""

from pathlib import Path

import pytest

from benchmarks.planned_times import parts, published
from perjoule import campaign, catalogue
from perjoule.campaign.plan import Plan


@pytest.mark.parametrize("bundle", published(), ids=lambda path: path.stem)
def test_a_study_is_planned_to_take_about_as_long_as_it_took_on_each_deployment(bundle: Path) -> None:
    held = list(parts(bundle))
    assert held
    far = [(part.name, round(part.ratio, 2)) for part in held if not part.is_close]
    assert not far
    planned_s, took_s = sum(part.planned_s for part in held), sum(part.took_s for part in held)
    assert planned_s == pytest.approx(took_s, rel=0.2)


def planned(bed: str, filesystem: str, workload: str, *, clients: int = 1, repetitions: int = 1) -> Plan:
    text = f"clients = {clients}\nrepetitions = {repetitions}\nsettle = '1 s'\n[testbed]\nkind = 'virtual'\n{bed}\n"
    return campaign.plan(campaign.parse(f"{text}[[filesystem]]\n{filesystem}\n[[workload]]\n{workload}\n"))


def test_pools_that_slow_boards_make_and_delete_take_their_time_beyond_that_between_them() -> None:
    """At 206 MIPS: by the records of the study, of one and of five clients."""
    workload = (
        "kind = 'rados'\noperation = 'procedure'\nsize = '256 MiB'\nin_flight = 4\nduration = '16 s'\n"
        "read_duration = '8 s'\npools_made_apart = '2400 ms'\npools_deleted_apart = '1600 ms'"
    )
    besides_s = [
        step.duration_s - step.loading_s
        for clients in (1, 5)
        for step in planned(
            "cluster = 'cubieboard2'\nscale = 0.2", "kind = 'rados'", workload, clients=clients
        ).steps
    ]
    made_s, deleted_s = (35.65 - 11.59) - 4 * 2.4, (13.3 - 3.0) - 4 * 1.6
    assert besides_s[1] - besides_s[0] == pytest.approx(made_s + deleted_s, rel=0.2)
    assert besides_s[0] == pytest.approx(56.2 - 48.1 + 11.6 + 3.0 + 4.5, rel=0.3)


def test_small_objects_take_their_time_in_gateways_and_again_when_they_are_removed() -> None:
    """Of 64 KiB and 4 MiB, 128 MiB each; by the records of the study of stores."""

    def besides_s(size: str) -> list[float]:
        bed = "cluster = 'odroid-hc4'\nscale = 0.2"
        workload = f"kind = 's3'\noperation = 'put'\nobject = '{size}'\nsize = '32 MiB'"
        steps = planned(bed, "kind = 'rgw'\ngateways = 'storage'", workload, clients=4, repetitions=2).steps
        return [step.duration_s - step.loading_s for step in steps]

    small_s, large_s = besides_s("64 KiB"), besides_s("4 MiB")
    assert small_s[0] - large_s[0] == pytest.approx(21.2 - 5.8, rel=0.4)
    assert small_s[1] - large_s[1] == pytest.approx(46.2 - 5.8, rel=0.2)  # the first ones went before


def test_objects_of_a_training_job_are_put_once_however_many_epochs_read_them() -> None:
    bed, filesystem = "cluster = 'odroid-hc4'\nscale = 0.2", "kind = 'rgw'\ngateways = 'storage'"
    training = "kind = 'training'\naccess = 'buckets'\nfiles = 100\nsample = '64 KiB'\nepochs = {}"
    once, often = (planned(bed, filesystem, training.format(epochs)).steps[0] for epochs in (1, 3))
    assert often.loading_s == pytest.approx(3 * once.loading_s)
    assert often.duration_s - often.loading_s == pytest.approx(once.duration_s - once.loading_s)


def test_hosts_that_work_where_the_data_lie_have_no_network_of_clients_between() -> None:
    bed = "cluster = 'odroid-hc4'\nscale = 0.2"
    storage, client = (
        planned(bed, "kind = 'moosefs'", f"kind = 'hep'\nworkers = '{workers}'").steps[0]
        for workers in ("storage", "clients")
    )
    assert client.loading_s == pytest.approx(4 * storage.loading_s)  # one network for that of four servers
    # of the study of the analysis: started on boards, and on the client
    assert (storage.duration_s - storage.loading_s) - (client.duration_s - client.loading_s) == pytest.approx(
        5.3 - 2.0, rel=0.5
    )


def test_writes_through_the_cache_last_until_the_device_has_them_and_a_local_disk_is_used_fully() -> None:
    workload = "kind = 'device'\noperation = 'write'\nsize = '{}'\nduration = '{}'\ndirect = {}"
    bed, device = "cluster = 'pc-hdd1'\ndisk = 'directory'", "kind = 'device'"
    rate_bytes_per_s = catalogue.cluster("pc-hdd1").nodes[0].disks[0].write_bytes_per_s.value
    for size, duration, direct, took_s in (
        ("320 MiB", "1100 ms", "true", 1.1),
        ("320 MiB", "1100 ms", "false", 320 * 2**20 / rate_bytes_per_s),
        ("20 GiB", "60 s", "false", 60 + 2 * 2**30 / rate_bytes_per_s),
    ):
        plan = planned(bed, device, workload.format(size, duration, direct))
        assert plan.steps[0].loading_s == pytest.approx(took_s)
        assert plan.deployments_s[0] < 2
