package io.rdmaraw.tools.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the launcher's functions. Each script is sourced into a separate bash. */
class LauncherScriptsTest {
    private static final Path PROJECT = Path.of("..").toAbsolutePath().normalize();

    @TempDir
    private Path directory;

    @Test
    void aJdkIsTakenByItsReleaseFile() throws Exception {
        jdk("jdk-17", "17.0.9", true);
        jdk("jdk-24", "24", true);
        jdk("jre-25", "25.0.3", false);
        jdk("jdk-25", "25.0.3", true);
        jdk("jdk-30", "30-ea", true);
        for (String unsuitable : List.of("jdk-17", "jdk-24", "jre-25", "none")) {
            assertEquals(1, script("jdk.sh", "is_suitable_jdk " + directory.resolve(unsuitable)).exitCode, unsuitable);
        }
        for (String suitable : List.of("jdk-25", "jdk-30")) {
            assertEquals(0, script("jdk.sh", "is_suitable_jdk " + directory.resolve(suitable)).exitCode, suitable);
        }
    }

    @Test
    void javaHomeComesFirstUnlessItIsTooOld() throws Exception {
        Path chosen = jdk("jdk-26", "26", true);
        Path inPath = jdk("jdk-25", "25", true);
        Path old = jdk("jdk-17", "17", true);
        Map<String, String> path = Map.of("PATH", inPath.resolve("bin") + ":/usr/bin:/bin");
        assertEquals(chosen.toString(), script(with(path, "JAVA_HOME", chosen), "jdk.sh", "find_jdk").output);
        assertEquals(inPath.toString(), script(with(path, "JAVA_HOME", old), "jdk.sh", "find_jdk").output);
        assertEquals(inPath.toString(), script(path, "jdk.sh", "find_jdk").output);
    }

    @Test
    void aMissingJdkIsExplained() throws Exception {
        Result result = script("messages.sh", ". scripts/packages.sh; . scripts/jdk.sh; find_jdk() { return 1; };"
                + " RDMA_RAW_NO_INSTALL=1; require_jdk");
        assertEquals(1, result.exitCode);
        assertTrue(result.output.contains("sudo apt-get install -y openjdk-25-jdk-headless"), result.output);
        assertTrue(result.output.contains("JAVA_HOME"), result.output);
    }

    /**
     * Parses the POMs below ci/lab. The build does not read them, so an error would otherwise appear only when a
     * command is used.
     */
    @Test
    void mavensProjectsOfCommandsCanBeRead() throws Exception {
        List<Path> projects;
        try (Stream<Path> files = Files.walk(PROJECT.resolve("ci/lab"))) {
            projects = files.filter(file -> file.endsWith("pom.xml")).toList();
        }
        assertTrue(projects.size() > 5, projects::toString);
        for (Path project : projects) {
            DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(project.toFile());
        }
    }

    @Test
    void missingPackagesAreNamed() throws Exception {
        Result result = script("messages.sh", ". scripts/packages.sh; PATH=/nowhere; RDMA_RAW_NO_INSTALL=1;"
                + " require_build_tools");
        assertEquals(1, result.exitCode);
        assertTrue(result.output.contains("sudo apt-get install -y gcc libc6-dev make libibverbs-dev"), result.output);
    }

    @Test
    void theBuildIsStaleWhenASourceChangesOrGoes() throws Exception {
        Path source = file("module/src/A.java");
        Path other = file("module/src/B.java");
        Path readme = file("README.md");
        Path product = file("module/target/A.class");
        assertFalse(isBuilt(), "there is no stamp");
        Path inner = file("module/inner/pom.xml");
        Path own = file("module/pom.xml");
        Path report = file("hardware-report/03-doctor.txt");
        Path innerProduct = file("module/inner/target/A.class");
        Path stamp = file("target/rdma-raw.built");
        Instant built = Instant.parse("2026-01-01T12:00:00Z");
        touch(built.minusSeconds(1), source, other, source.getParent(), source.getParent().getParent(), inner, own);
        touch(built, stamp);
        touch(built.plusSeconds(1), readme, file("Mine.java"), product, product.getParent(), directory,
                inner.getParent(), innerProduct, innerProduct.getParent(), report, report.getParent());
        assertTrue(isBuilt(), "products and texts are no sources");
        touch(built.plusSeconds(1), source);
        assertFalse(isBuilt(), "a source is newer");
        touch(built.minusSeconds(1), source);
        assertTrue(isBuilt());
        touch(built.plusSeconds(1), inner);
        assertFalse(isBuilt(), "the build of a module in a module has changed");
        touch(built.minusSeconds(1), inner);
        Path pom = file("pom.xml");
        touch(built.plusSeconds(1), pom);
        assertFalse(isBuilt(), "the build itself has changed");
        touch(built.minusSeconds(1), pom);
        Files.delete(other);
        assertFalse(isBuilt(), "a source is gone");
    }

    @Test
    void testsAreCountedOverAllModules() throws Exception {
        report("a", "  <testcase name=\"one\"/>", "  <testcase name=\"two\">",
                "    <skipped message=\"needs &lt;root&gt;&#10;and more\"/>", "  </testcase>");
        report("b", "  <testcase name=\"three\" classname=\"a.BTest\" time=\"0.1\">",
                "    <failure message=\"1 &lt; 2&#10;and more\" type=\"T\"><![CDATA[", "  <testcase quoted",
                "    ]]></failure>", "    <system-out><![CDATA[<error>]]></system-out>", "  </testcase>",
                "  <testcase name=\"four(int)[2]\" classname=\"CTest\">", "    <error type=\"E\"/>", "  </testcase>");
        report("examples/frameworks", "  <testcase name=\"five\"/>");
        Result result = script("test-summary.sh", "print_test_summary " + directory + " 0");
        assertEquals("""
                1 skipped: needs <root>
                failed: a.BTest.three: 1 < 2
                failed: CTest.four(int)[2]
                2 passed, 2 failed""", result.output);
        assertEquals(1, result.exitCode);
    }

    @Test
    void lastLineCountsFailedTestsInC() throws Exception {
        report("a", "  <testcase name=\"one\"/>");
        Result result = script("test-summary.sh", "print_test_summary " + directory + " 0 1");
        assertEquals("""
                failed: the tests in C, or their build
                1 passed, 1 failed""", result.output);
        assertEquals(1, result.exitCode);
        assertEquals(0, script("test-summary.sh", "print_test_summary " + directory + " 0 0").exitCode);
    }

    @Test
    void aBuildWithoutTestsIsNotGreen() throws Exception {
        Result result = script("test-summary.sh", "print_test_summary " + directory + " 1");
        assertTrue(result.output.endsWith("0 passed, 0 failed"), result.output);
        assertTrue(result.output.contains("failed outside the Java tests"), result.output);
        assertEquals(1, result.exitCode);
    }

    @Test
    void theProfilerIsGotOnceAndNeverInsistedOn() throws Exception {
        String get = "set -euo pipefail; ROOT=" + directory + "; . scripts/messages.sh; . scripts/build.sh;"
                + " run_maven() { echo \"maven $*\"; return 1; }; want_profiler";
        Result without = run(Map.of(), "bash", "-c", get);
        assertEquals(0, without.exitCode, without.output);
        assertTrue(without.output.contains("maven -q -B -ntp -pl microbench dependency:copy@async-profiler"),
                without.output);
        assertTrue(without.output.contains("flight recorder is used"), without.output);
        file("microbench/target/profiler/async-profiler-4.1.jar");
        assertEquals(new Result(0, ""), run(Map.of(), "bash", "-c", get));
    }

    /** The launcher passes the path of softverbs to a profile. If the variable were unset, the function would abort. */
    @Test
    void aProfileKnowsTheFileOfSoftverbs() throws Exception {
        Result result = run(Map.of(), "bash", "-c", "set -euo pipefail; ROOT=" + directory + "; . scripts/build.sh;"
                + " eval \"$(sed -n '/^run_profile()/,/^}/p' rdma-raw)\"; require_jdk() { :; }; require_built() { :; };"
                + " want_profiler() { :; }; run_main() { echo \"$RDMA_RAW_JAVA_OPTS | $*\"; }; run_profile profile rx");
        assertEquals(0, result.exitCode, result.output);
        assertTrue(result.output.contains("-Dio.rdmaraw.softverbs.path=" + directory + "/transport-rdma-raw-native/")
                && result.output.endsWith(" | microbench profile rx"), result.output);
    }

    @Test
    void wrongCommandsAreRefusedWithoutABuild() throws Exception {
        Result result = run(Map.of(), "./rdma-raw", "no-such-command");
        assertEquals(2, result.exitCode);
        assertTrue(result.output.contains("unknown command 'no-such-command'"), result.output);
        Result usage = run(Map.of(), "./rdma-raw", "help");
        assertEquals(0, usage.exitCode, usage.output);
        assertEquals(usage, run(Map.of(), "./rdma-raw"));
        for (String command : List.of("build", "install", "java", "release", "sim", "site", "test",
                "hardware-check")) {
            Result help = run(Map.of(), "./rdma-raw", command, "--help");
            assertEquals(0, help.exitCode, help.output);
            assertTrue(help.output.startsWith("usage: ./rdma-raw " + command), help.output);
        }
    }

    /** An unknown setup is rejected at the start. Otherwise each step would fail with the same error. */
    @Test
    void aSetupThatIsNotThereIsRefusedAtOnce() throws Exception {
        Result result = run(Map.of(), "transport-rdma-raw-native/connectx-emulator/emulate.sh", "--setup", "vf+bogus",
                "echo", "started");
        assertEquals(2, result.exitCode, result.output);
        assertTrue(result.output.contains("no setup 'bogus'; there are roce-off "), result.output);
        assertTrue(result.output.contains(" vf "), result.output);
    }

    /** {@code ./mvnw} uses the same JDK as the launcher even if JAVA_HOME names an older one. */
    @Test
    void mavenFindsTheJdkThatTheLauncherFinds() throws Exception {
        Path old = jdk("jdk-17", "17.0.9", true);
        Result version = run(Map.of("JAVA_HOME", old.toString()), "./mvnw", "-version");
        assertEquals(0, version.exitCode, version.output);
        assertTrue(version.output.contains("Java version: " + Runtime.version().feature()), version.output);
    }

    @Test
    void aTestThatIsNotThereIsRefused() throws Exception {
        Result result = run(Map.of(), "./rdma-raw", "test", "NoSuchTestOfOurs");
        assertEquals(2, result.exitCode, result.output);
        assertTrue(result.output.contains("there is no test class 'NoSuchTestOfOurs'"), result.output);
    }

    /** Runs a test by its name in a source tree that contains it. {@code maven} is executed in place of Maven. */
    private Result namedTest(String maven) throws Exception {
        Path tests = Files.createDirectories(directory.resolve("tools/src/test/java"));
        Files.writeString(tests.resolve("NamedTest.java"), "");
        return run(Map.of(), "bash", "-c", "set -euo pipefail; . scripts/messages.sh; . scripts/test-summary.sh;"
                + " eval \"$(sed -n '/^run_named_tests()/,/^}/p' rdma-raw)\"; ROOT=" + directory + ";"
                + " reports=\"$ROOT/tools/target/surefire-reports\"; mkdir -p \"$reports\";"
                + " echo '  <testcase name=\"old\">' >\"$reports/TEST-Old.xml\"; require_jdk() { :; };"
                + " require_build_tools() { :; }; run_maven() { echo \"$*\"; mkdir -p \"$reports\"; " + maven + "; };"
                + " run_named_tests 'NamedTest#method'");
    }

    /** Only the test's module and its dependencies are built, and no other test runs. */
    @Test
    void oneTestIsLookedForByItsName() throws Exception {
        Result result = namedTest("echo '  <testcase name=\"method\">' >\"$reports/TEST-NamedTest.xml\"");
        assertEquals(0, result.exitCode, result.output);
        assertTrue(result.output.contains("-pl tools -am") && result.output.contains("-Dtest.skipEmulated=true")
                && result.output.contains("-Dtest=NamedTest#method"), result.output);
        assertTrue(result.output.endsWith("1 passed, 0 failed"), result.output);
    }

    @Test
    void aMethodThatDoesNotExistIsNoTestThatPasses() throws Exception {
        Result result = namedTest(":");
        assertEquals(2, result.exitCode, result.output);
        assertTrue(result.output.contains("no test has run: 'NamedTest#method' names no method of"), result.output);
        assertFalse(result.output.contains("passed"), result.output);
    }

    @Test
    void aNamedTestThatFailsIsCounted() throws Exception {
        Result result = namedTest("printf '  <testcase name=\"method\" classname=\"NamedTest\">\\n    <failure "
                + "message=\"why\">\\n' >\"$reports/TEST-NamedTest.xml\"; return 1");
        assertEquals(1, result.exitCode, result.output);
        assertTrue(result.output.endsWith("failed: NamedTest.method: why\n0 passed, 1 failed"), result.output);
    }

    /** A result with only zeros is a failure: perftest exits with status 0 although no frame was sent. */
    @Test
    void aMeasurementWithoutAFrameIsNoSuccess() throws Exception {
        String heading = " #bytes  #iterations  BW peak[MiB/sec]  BW average[MiB/sec]  MsgRate[Mpps]\n";
        Path zeros = Files.writeString(directory.resolve("zeros"), heading + " 64  0  0.00  0.00  0.000000\n");
        Path rows = Files.writeString(directory.resolve("rows"), heading + " 64  4096  0.00  61.04  1.000000\n");
        Path other = Files.writeString(directory.resolve("other"), "hca_id: mlx5_0\n  64  0\n");
        for (Map.Entry<Path, Integer> each : Map.of(zeros, 0, rows, 1, other, 1).entrySet()) {
            Result result = script("hardware-check.sh", "hardware_moved_nothing " + each.getKey());
            assertEquals(each.getValue(), result.exitCode, each.getKey().toString());
        }
        assertEquals("1 Mpps", script("hardware-check.sh", "hardware_figure " + rows).output);
        Path slow = Files.writeString(directory.resolve("slow"),
                "{\"frames\":4288,\"mfps\":8.134567890123E-4,\"x\":1}\n");
        assertEquals("0.0008135 Mframe/s there and back",
                script("hardware-check.sh", "hardware_figure " + slow).output);
    }

    /** perftest and the facts about the interface are those of the port that the transport uses. */
    @Test
    void portOfHardwareCheckIsThatOfTheWire() throws Exception {
        Files.writeString(file("report/03-doctor.txt"), "$ doctor\n  OK    open            mlx5_0 can be opened\n"
                + "  OK    port 3          is active\n");
        Files.writeString(file("ports"), "{\"ports\":[{\"port\":1,\"state\":\"PORT_DOWN (1)\",\"netdev\":\"none in this"
                + " namespace\",\"mtu\":1},{\"port\":2,\"state\":\"x\",\"netdev\":\"eth0pf0vf0\",\"gids\":[]},"
                + "{\"port\":3,\"state\":\"x\",\"netdev\":\"eth0\",\"gids\":[]}]}\n");
        String netdev = "cd " + directory + "; hardware_out=report; hardware_netdev %s <ports";
        assertEquals("eth0", script("hardware-check.sh", netdev.formatted("\"$(hardware_port)\"")).output);
        assertEquals("eth0pf0vf0", script("hardware-check.sh", netdev.formatted("2")).output);
        assertEquals("", script("hardware-check.sh", netdev.formatted("1")).output);
        assertEquals("1", script("hardware-check.sh", "hardware_out=" + directory + "; hardware_port").output);
    }

    /** A card that blocks the server would otherwise block the whole check. */
    @Test
    void serverThatNeverListensFailsTheStep() throws Exception {
        Files.writeString(file("rdma-raw"), "#!/bin/sh\necho \"$*\"\nexec sleep 1000\n").toFile().setExecutable(true);
        Result result = script("hardware-check.sh", "ROOT=" + directory + "; hardware_out=" + directory
                + "; HARDWARE_SERVER_SECONDS=1; hardware_sockets mlx5_0 mlx5_1");
        assertEquals(1, result.exitCode, result.output);
        assertEquals("The server was not ready within 1 s. Its output follows.\n"
                + "demo sockets --device mlx5_0 --echo-device mlx5_1 --role server", result.output);
    }

    @Test
    void figuresOfAnEmulatedDeviceCarryAWarning() throws Exception {
        String figures = " hardware_figures; cat " + directory + "/report/REPORT.md";
        String warning = "**The device is emulated: its rates and times say nothing about a card.**\n\n| measured by";
        Result emulated = hardwareRun("CONNECTX_EMULATOR_WIRES=cable;" + figures);
        assertTrue(emulated.output.contains(warning), emulated.output);
        Result card = hardwareRun(figures);
        assertFalse(card.output.contains("emulated"), card.output);
    }

    /** The directory may be named with slashes at the end, or by a dot. */
    @Test
    void archiveOfAHardwareCheckLiesBesideItsDirectory() throws Exception {
        for (String name : List.of("slash/", "slashes//", "dot/.")) {
            Result result = hardwareRun(directory + "/" + name,
                    "hardware_step first right true; hardware_conclude done");
            assertEquals(0, result.exitCode, result.output);
            Path archive = directory.resolve(name.replaceFirst("/.*", "") + ".tar.gz");
            assertTrue(Files.exists(archive), result.output);
            assertTrue(result.output.contains("all of it is in " + archive + "; please"), result.output);
        }
    }

    private Result hardwareRun(String steps) throws Exception {
        return hardwareRun(directory + "/report", steps);
    }

    private Result hardwareRun(String out, String steps) throws Exception {
        return script("hardware-check.sh", "set -euo pipefail; ROOT=$PWD; . scripts/messages.sh; JAVA_HOME=/nowhere;"
                + " hardware_out=" + out + "; hardware_steps=0; hardware_failed=0;"
                + " hardware_failures=(); hardware_running=; hardware_total=9;"
                + " hardware_begin_report mlx5_0; trap 'hardware_interrupted 130' INT; " + steps);
    }

    /** The status is that of all tools for a device that is missing. */
    @Test
    void aHardwareCheckOfNoDeviceFails() throws Exception {
        Path tool = file("rdma-raw");
        Files.writeString(tool, "#!/bin/sh\necho 'rdma-raw: there is no RDMA device \"mlx5_99\"' >&2; exit 1\n");
        assertTrue(tool.toFile().setExecutable(true));
        Result result = hardwareRun("ROOT=" + directory + "; hardware_require_device mlx5_99");
        assertEquals(1, result.exitCode, result.output);
        assertTrue(result.output.contains("hardware-check: there is no RDMA device \"mlx5_99\""), result.output);
    }

    /** An interrupt ends the current step and its child processes. The report contains the completed steps. */
    @Test
    void interruptedHardwareCheckKeepsItsResults() throws Exception {
        Result result = hardwareRun("hardware_step first right echo one; hardware_step second right bash -c \"sleep"
                + " 1000 & echo \\$! >" + directory + "/child; kill -INT $$; wait\"; echo goes on");
        assertEquals(130, result.exitCode, result.output);
        assertTrue(result.output.contains("\nInterrupted in step 2, and 0 of the steps before it failed.\n"),
                result.output);
        assertTrue(result.output.contains("| first | right | ok |"), result.output);
        assertFalse(result.output.contains("goes on"), result.output);
        assertTrue(Files.exists(directory.resolve("report.tar.gz")));
        assertTrue(Files.exists(directory.resolve("report/02-second.txt.part")), "it is no result");
        long child = Long.parseLong(Files.readString(directory.resolve("child")).strip());
        // Fails if the child process still runs.
        ProcessHandle.of(child).map(ProcessHandle::onExit).orElse(CompletableFuture.completedFuture(null))
                .get(50, TimeUnit.SECONDS);
    }

    @Test
    void reportOfAFailedHardwareCheckBeginsWithTheFailure() throws Exception {
        Result result = hardwareRun("hardware_step first right false; hardware_conclude \"$hardware_failed of"
                + " $hardware_steps steps failed.\"");
        assertEquals(0, result.exitCode, result.output);
        assertTrue(result.output.contains("FAILED (1), see"), result.output);
        String verdict = "\n1 of 1 steps failed.\n";
        assertTrue(result.output.contains(verdict), result.output);
        assertTrue(result.output.indexOf(verdict) < result.output.indexOf("| step |"), result.output);
        assertTrue(result.output.contains("### 01-first"), result.output);
    }

    @Test
    void twoHardwareChecksDoNotWriteOneReport() throws Exception {
        Path report = Files.createDirectories(directory.resolve("report"));
        Result result = hardwareRun("(hardware_begin_report mlx5_1)");
        assertEquals(1, result.exitCode, result.output);
        assertTrue(result.output.contains("another run writes to " + report), result.output);
    }

    /**
     * The report contains the host's facts and the errors of failed steps, so that it can be read without the other
     * files.
     */
    @Test
    void reportDescribesTheHostAndFailedSteps() throws Exception {
        Files.writeString(directory.resolve("01-host.txt"), "libibverbs1:amd64\t44.0-2\n");
        Files.writeString(directory.resolve("02-ibv-devinfo.txt"), "hca_id:\tmlx5_0\n\tfw_ver:\t\t\t16.35.2000\n");
        Files.writeString(directory.resolve("03-doctor.txt"), "$ doctor\nthe port is down\n");
        Files.writeString(directory.resolve("04-conformance.txt"), "[ERROR]   SuiteTest.theFrameArrives timed out\n"
                + "[ERROR] Re-run Maven using the -X switch\n".repeat(30) + "[ERROR]   mvn <args> -rf :testsuite\n");
        Result result = script("hardware-check.sh", "hardware_out=" + directory + "; hardware_facts; hardware_failures="
                + "(03-doctor.txt 04-conformance.txt); hardware_list_failures; cat " + directory + "/REPORT.md");
        assertTrue(result.output.contains("| libibverbs1 | 44.0-2 |"), result.output);
        assertTrue(result.output.contains("| fw_ver | 16.35.2000 |"), result.output);
        assertTrue(result.output.contains("### 03-doctor"), result.output);
        assertTrue(result.output.contains("the port is down"), result.output);
        assertTrue(result.output.contains("SuiteTest.theFrameArrives timed out"), result.output);
        assertFalse(result.output.contains("mvn <args>") || result.output.contains("-X switch"), result.output);
    }

    @Test
    void programsThatAMeasurementWantsAreNamed() throws Exception {
        Result result = script("messages.sh", ". scripts/packages.sh; PATH=/nowhere; RDMA_RAW_NO_INSTALL=1;"
                + " want_programs report no-such-program:such-package");
        assertEquals(0, result.exitCode, result.output);
        assertTrue(result.output.contains("report lacks programs")
                && result.output.contains("sudo apt-get install -y such-package"), result.output);
    }

    /**
     * A release replaces only a directory that contains a bundle. The project's sources have the same path, so they
     * must not be taken for one.
     */
    @Test
    void aReleaseReplacesNothingButABundle() throws Exception {
        file("bundle/io/rdmaraw/netty-transport-rdma-raw/0.1.0/netty-transport-rdma-raw-0.1.0.jar");
        file("home/io/rdmaraw/Main.java");
        file("file");
        for (Map.Entry<String, Integer> each : Map.of("none", 0, "bundle", 0, "home", 2, "file", 2).entrySet()) {
            Result result = script("messages.sh", ". ci/lab/release.sh; require_replaceable "
                    + directory.resolve(each.getKey()));
            assertEquals(each.getValue(), result.exitCode, each.getKey() + result.output);
        }
        Result refused = run(Map.of(), "./rdma-raw", "release", "--dry-run", "--out", directory.toString());
        assertEquals(2, refused.exitCode, refused.output);
        assertTrue(Files.exists(directory.resolve("home/io/rdmaraw/Main.java")));
        Result nameless = run(Map.of(), "./rdma-raw", "release", "--dry-run", "--out");
        assertEquals(2, nameless.exitCode, nameless.output);
        assertEquals("rdma-raw: release --out wants a value: ./rdma-raw release --help", nameless.output);
    }

    @Test
    void aReleaseIsBuiltWithoutSourcesThatWereRemoved() throws Exception {
        Path removed = file("clone/removed");
        file("clone/with a space");
        Path clone = removed.getParent();
        assertEquals(new Result(0, ""), run(Map.of(), "bash", "-c", "cd " + clone + " && git init -q && git add ."));
        Files.delete(removed);
        Result result = run(Map.of(), "bash", "-c", "set -euo pipefail; ROOT=" + clone + "; . ci/lab/release.sh;"
                + " copy_sources " + directory + "/copy; ls " + directory + "/copy");
        assertEquals(new Result(0, "with a space"), result);
    }

    /**
     * A release runs this source file directly, so without this test a compile error would appear only during a
     * release.
     */
    @Test
    void theCheckOfAReleaseCompiles() {
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        int exitCode = ToolProvider.getSystemJavaCompiler().run(null, said, said, "-Xlint:all,-path", "-Werror", "-d",
                directory.toString(), PROJECT.resolve("ci/lab/release/CheckRelease.java").toString());
        assertEquals(0, exitCode, said.toString(StandardCharsets.UTF_8));
    }

    /**
     * Without a terminal, progress is printed every ten seconds. The test advances the clock by that time at each step.
     */
    @Test
    void buildPrintsItsProgress() throws Exception {
        Result result = run(Map.of("HOME", directory.toString()), "bash", "-c", "set -euo pipefail; ROOT=" + directory
                + "; . scripts/messages.sh; . scripts/build.sh; run_maven() { for i in 1 2; do"
                + " echo '[INFO] Downloaded from central: https://x (1 kB at 1 kB/s)'; SECONDS=$((SECONDS + 10));"
                + " echo \"[INFO] Building netty-transport-x 0.1.0-SNAPSHOT            [$i/13]\"; done;"
                + " echo 'x.c:1: error'; echo '[ERROR] no'; return 1; };"
                + " run_maven_logged " + directory + "/log -B package");
        assertEquals(1, result.exitCode, result.output);
        assertTrue(result.output.contains("rdma-raw: getting Maven\n"), result.output);
        assertTrue(result.output.contains("\nx.c:1: error\n[ERROR] no\nrdma-raw: the build failed"), result.output);
        Result progress = run(Map.of(), "bash", "-c", ". scripts/messages.sh; . scripts/build.sh; { echo"
                + " '[INFO] Downloaded from central: x'; echo '[INFO] Building netty-x 0.1.0-SNAPSHOT     [2/13]'; }"
                + " | { SECONDS=20; say() { printf '%s\\n' \"$*\"; }; SECONDS_PER_LINE=0 show_progress; }");
        assertTrue(progress.output.contains("2 of 13, netty-x (1 files downloaded, 0 s)"), progress.output);
    }

    @Test
    void shellcheckFindsNothing() throws Exception {
        Result version = run(Map.of(), "sh", "-c", "shellcheck --version");
        assumeTrue(version.exitCode == 0, "needs shellcheck: apt-get install shellcheck");
        assertEquals("", run(Map.of(), "sh", "-c", "shellcheck -x rdma-raw scripts/*.sh"
                + " scripts/wireshark-extcap ci/judges ci/lab/*.sh ci/lab/*/*.sh .ci/run").output);
    }

    /** The build skips the Javadoc by default, but the site contains it. */
    @Test
    void siteAsksForTheJavadoc() throws Exception {
        Result result = script("site.sh", "ROOT=" + directory + "; say() { :; }; require_node() { :; };"
                + " require_jdk() { :; }; require_build_tools() { :; }; run_maven_logged() { echo \"$@\"; exit 0; };"
                + " run_site --out " + directory.resolve("pages"));
        assertTrue(result.output.contains("-Dmaven.javadoc.skip=false"), result.output);
    }

    @Test
    void storedHelpIsShownForACommandAndForASubcommand() throws Exception {
        String answers = "ROOT=$PWD; . scripts/help.sh; . scripts/answers.sh; ";
        for (String words : List.of("doctor", "pktgen rx", "example http", "sim")) {
            Result help = script("messages.sh", answers + "show_stored_help " + words + " --help");
            assertEquals(0, help.exitCode, words);
            assertTrue(help.output.startsWith("usage: ") || help.output.startsWith("Usage: "), help.output);
            assertFalse(help.output.contains("exit 0"), help.output);
        }
        for (String words : List.of("doctor", "nonsense --help", "--help", "../doctor --help", "doctor eth0 --help")) {
            assertEquals(new Result(1, ""), script("messages.sh", answers + "show_stored_help " + words), words);
        }
    }

    @Test
    void versionsAreShownWithoutABuild() throws Exception {
        Path home = jdk("jdk-25", "25.0.3", true);
        Result result = script(Map.of("JAVA_HOME", home.toString()), "messages.sh",
                "ROOT=$PWD; . scripts/jdk.sh; . scripts/answers.sh; show_stored_versions");
        assertEquals(0, result.exitCode, result.output);
        List<String> lines = result.output.lines().toList();
        assertTrue(lines.get(0).matches("rdma-raw [0-9]\\S+ \\(not built\\)"), result.output);
        assertTrue(lines.get(1).matches("Netty 4\\.[0-9].*"), result.output);
        assertTrue(lines.get(2).startsWith("Java 25.0.3 "), result.output);
        assertTrue(lines.get(3).startsWith("Linux "), result.output);
    }

    @Test
    void aMistypedCommandOrTestOptionIsAnsweredWithTheNearestOne() throws Exception {
        assertTrue(run(Map.of(), "./rdma-raw", "instal").output.contains("did you mean 'install'?"));
        assertTrue(run(Map.of(), "./rdma-raw", "doctro").output.contains("did you mean 'doctor'?"));
        assertTrue(run(Map.of(), "./rdma-raw", "test", "--kernel").output.contains("did you mean '--kernels'?"));
        assertFalse(run(Map.of(), "./rdma-raw", "frobnicate").output.contains("did you mean"));
    }

    private Path jdk(String name, String version, boolean withCompiler) throws IOException {
        Path home = directory.resolve(name);
        file(name + "/bin/java").toFile().setExecutable(true);
        if (withCompiler) {
            file(name + "/bin/javac").toFile().setExecutable(true);
        }
        Files.writeString(home.resolve("release"), "IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"" + version + "\"\n");
        return home;
    }

    private void report(String module, String... lines) throws IOException {
        Files.writeString(file(module + "/target/surefire-reports/TEST-" + Path.of(module).getFileName() + ".xml"),
                "<testsuite tests=\"0\">\n" + String.join("\n", lines) + "\n</testsuite>\n");
    }

    private Path file(String name) throws IOException {
        Path file = directory.resolve(name);
        Files.createDirectories(file.getParent());
        return Files.createFile(file);
    }

    private static void touch(Instant time, Path... files) throws IOException {
        for (Path file : files) {
            Files.setLastModifiedTime(file, FileTime.from(time));
        }
    }

    private boolean isBuilt() throws Exception {
        return run(Map.of(), "bash", "-c", "ROOT=" + directory + "; . scripts/build.sh; is_built").exitCode == 0;
    }

    private static Map<String, String> with(Map<String, String> environment, String name, Path value) {
        Map<String, String> more = new java.util.HashMap<>(environment);
        more.put(name, value.toString());
        return more;
    }

    private static Result script(String file, String commands) throws Exception {
        return script(Map.of(), file, commands);
    }

    private static Result script(Map<String, String> environment, String file, String commands) throws Exception {
        return run(environment, "/bin/bash", "-c", ". scripts/" + file + "; " + commands);
    }

    /**
     * A background build of a shell starts with SIGINT ignored, and bash cannot trap a signal that was ignored at its
     * start. {@code env} restores the default.
     */
    private static Result run(Map<String, String> environment, String... command) throws Exception {
        List<String> words = new ArrayList<>(List.of("env", "--default-signal=INT"));
        words.addAll(List.of(command));
        ProcessBuilder builder = new ProcessBuilder(words).redirectErrorStream(true)
                .directory(PROJECT.toFile());
        builder.environment().remove("JAVA_HOME");
        builder.environment().putAll(environment);
        Process process = builder.start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        return new Result(process.waitFor(), output);
    }

    private record Result(int exitCode, String output) {
    }
}
