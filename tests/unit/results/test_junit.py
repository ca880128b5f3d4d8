"""A JUnit report is XML whatever its names are."""

from xml.etree import ElementTree

from perjoule.results.junit import JunitCase, document


def test_names_with_what_no_xml_has_leave_a_report_that_can_be_read() -> None:
    name = "a\0\x1b\x85\ud800\ufffe<b>&\"'"
    suite = ElementTree.fromstring(document(name, [JunitCase(name, name, "failure", name)]).encode()).find(
        "testsuite"
    )
    assert suite is not None
    assert suite.get("name") == "a\ufffd\ufffd\x85\ufffd\ufffd<b>&\"'"
