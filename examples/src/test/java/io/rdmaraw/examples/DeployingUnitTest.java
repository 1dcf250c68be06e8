package io.rdmaraw.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.Offloads;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Checks the systemd unit in docs/guide/deploying.md. systemd accepts its settings, and the program runs with exactly
 * the user, capabilities and limits that the unit sets.
 */
@Timeout(300)
@WithTestNetwork
class DeployingUnitTest {
    private static final Pattern BLOCK = Pattern.compile("```ini\n(.*?)```", Pattern.DOTALL);
    private static final String JAVA = "/usr/lib/jvm/temurin-25/bin/java";
    private static final String JARS = "/opt/rdma-raw/lib";
    private static final String INTERFACE = "eth1";
    private static final String USER = "rdma-raw";
    /** Stands in for the page's user, which may not exist on this host. It has no privileges either. */
    private static final String UNPRIVILEGED_USER = "daemon";

    /** If root lacks CAP_SYS_RESOURCE, it can raise the limit only to its hard limit. */
    private static final String UNLIMITED_MEMORY =
            "ulimit -l unlimited 2>/dev/null || ulimit -l \"$(ulimit -H -l)\"; exec \"$@\"";

    private static String unit() throws IOException {
        Matcher block = BLOCK.matcher(Files.readString(Path.of("../docs/guide/deploying.md")));
        assertTrue(block.find(), "docs/guide/deploying.md has a unit");
        String unit = block.group(1);
        assertTrue(!block.find(), "one unit");
        return unit;
    }

    private static Map<String, String> settings() throws IOException {
        return unit().replaceAll("\\\\\n *", "").lines().filter(line -> line.contains("="))
                .map(line -> line.split("=", 2))
                .collect(Collectors.toMap(words -> words[0], words -> words[1]));
    }

    private static String replaced(String text, String old, String with) {
        assertTrue(text.contains(old), "the page has " + old);
        return text.replace(old, with);
    }

    static String java() {
        return ProcessHandle.current().info().command().orElseThrow();
    }

    @Test
    void systemdKnowsEachSetting(@TempDir Path directory, TestNetwork network) throws Exception {
        Stage.require("systemd-analyze:systemd");
        Path file = Files.writeString(directory.resolve("rdma-raw-test.service"),
                replaced(replaced(unit(), JAVA, java()), "User=" + USER, "User=" + UNPRIVILEGED_USER));
        String complaints = network.current().attempt("systemd-analyze", "verify", file.toString()).output();
        assertEquals("", complaints.lines().filter(line -> line.contains("rdma-raw-test"))
                .collect(Collectors.joining("\n")));
    }

    @Test
    void theProgramServesWithTheRightsOfTheUnit(@TempDir Path directory, TestNetwork network) throws Exception {
        Stage.require("setpriv:util-linux", "curl:curl");
        VethPair pair = network.withoutCapture().offloads(Offloads.AS_MADE)
                .vethPair(network.namespace(), network.namespace());
        Map<String, String> unit = settings();
        String program = replaced(replaced(unit.get("ExecStart"), JAVA, java()), INTERFACE, pair.ours().name());
        program = replaced(program, JARS + "/*", readableClassPath(directory));
        assertEquals("infinity", unit.get("LimitMEMLOCK"));
        assertEquals("yes", unit.get("NoNewPrivileges"));
        List<String> command = new ArrayList<>(List.of("sh", "-c", UNLIMITED_MEMORY, "sh"));
        command.addAll(setpriv(unit.get("AmbientCapabilities"), unit.get("CapabilityBoundingSet")));
        command.addAll(List.of(program.split(" ")));
        PeerProcess server = pair.ours().namespace().start(command.toArray(String[]::new));
        server.awaitOutput("is listening on", Await.PATIENCE);
        assertEquals("{\"message\":\"Hello, World!\"}", pair.peer().namespace().run("curl", "-sS", "--max-time", "60",
                "http://" + pair.ours().ipv4() + ":8080/json").output());
        List<String> status = Files.readAllLines(Path.of("/proc/" + server.pid() + "/status"));
        assertTrue(status.contains("NoNewPrivs:\t1"), () -> String.join("\n", status));
        assertEquals(3, Long.bitCount(Long.parseUnsignedLong(value(status, "CapEff:"), 16)), "capabilities");
        assertEquals(value(status, "CapBnd:"), value(status, "CapEff:"));
        assertTrue(Stream.of(value(status, "Uid:").split("\t")).noneMatch("0"::equals), "it is not root");
    }

    private static String value(List<String> status, String name) {
        return status.stream().filter(line -> line.startsWith(name)).findFirst().orElseThrow()
                .substring(name.length()).strip();
    }

    /** Returns a command that sets the same user and capabilities as systemd would for the unit. */
    private static List<String> setpriv(String ambient, String bounding) {
        return List.of("setpriv", "--reuid", UNPRIVILEGED_USER, "--regid", "nogroup", "--clear-groups",
                "--no-new-privs", "--inh-caps", flags(ambient), "--ambient-caps", flags(ambient),
                "--bounding-set", "-all," + flags(bounding));
    }

    private static String flags(String capabilities) {
        return Arrays.stream(capabilities.split(" "))
                .map(name -> '+' + name.substring("CAP_".length()).toLowerCase(Locale.ROOT))
                .collect(Collectors.joining(","));
    }

    /** Copies this test's class path to a directory that any user can read. The originals may be in root's home. */
    static String readableClassPath(Path directory) throws IOException {
        assumeTrue(Files.isExecutable(Path.of(java())), "needs a JDK that all users may run");
        List<String> entries = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            Path source = Path.of(entry);
            if (Files.exists(source)) {
                Path copy = directory.resolve(entries.size() + "-" + source.getFileName());
                copy(source, copy);
                entries.add(copy.toString());
            }
        }
        makeReadable(directory);
        return String.join(File.pathSeparator, entries);
    }

    private static void copy(Path source, Path target) throws IOException {
        try (Stream<Path> files = Files.walk(source)) {
            for (Path file : files.toList()) {
                Files.copy(file, target.resolve(source.relativize(file).toString()));
            }
        }
    }

    private static void makeReadable(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            files.forEach(file -> {
                try {
                    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        }
    }
}
