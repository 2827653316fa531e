"""The part of tools/setup that makes a bare Debian, with a debootstrap that only records its arguments."""

import os
import pathlib
import tarfile
import unittest

from scratch_checkout import ScratchCheckout

NOBODY = 65534


class BareDebianTest(unittest.TestCase):
    def setUp(self):
        # It needs no Python environment.
        self.checkout = ScratchCheckout(pathlib.Path("/usr"))
        self.addCleanup(self.checkout.close)
        self.packed = self.checkout.deps / "debian/bookworm.tar"

    def make(self, **how) -> str:
        run = self.checkout.part_of_setup("setup_bare_debian", **how)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout + run.stderr

    def made(self) -> list[str]:
        return [call for call in self.checkout.calls() if call.startswith("debootstrap")]

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_asks_for_packages_as_this_machine_does_and_leaves_documents_out(self):
        self.make()
        [call] = self.made()
        self.assertTrue(call.endswith(" http://mirror/debian through http://proxy:3142"), call)
        with tarfile.open(self.packed) as packed:
            self.assertNotIn("./usr/share/doc", packed.getnames())
            read = {name: packed.extractfile(f"./etc/{name}").read().decode()
                    for name in ("apt/sources.list", "apt/apt.conf.d/00machine", "dpkg/dpkg.cfg.d/slim")}
        self.assertEqual(read["apt/sources.list"],
                         "deb http://mirror/debian bookworm main\ndeb http://mirror/security bookworm-security main\n")
        self.assertIn('Acquire::Check-Date "false";', read["apt/apt.conf.d/00machine"])
        self.assertIn("path-exclude=/usr/share/doc/*\n", read["dpkg/dpkg.cfg.d/slim"])

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_makes_it_once(self):
        self.make()
        self.assertEqual(self.make(), "")
        self.assertEqual(len(self.made()), 1)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_one_that_cannot_be_made_stops_nothing_and_is_tried_again(self):
        (self.checkout.fakes / "debootstrap-fails").touch()
        self.assertIn("cannot mknod", self.make())
        self.assertFalse(self.packed.exists())
        (self.checkout.fakes / "debootstrap-fails").unlink()
        self.make()
        self.assertTrue(self.packed.exists())

    def test_says_why_where_it_may_not(self):
        self.assertIn("Without a bare Debian 12 for the tests of deploy/: MILLRACE_SETUP=never",
                      self.make(MILLRACE_SETUP="never"))
        self.assertEqual(self.made(), [])

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to become somebody else")
    def test_without_root_does_without(self):
        for path in [self.checkout.deps, *self.checkout.deps.rglob("*")]:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        self.assertIn("sudo needs a password", self.make(user=NOBODY))


if __name__ == "__main__":
    unittest.main()
