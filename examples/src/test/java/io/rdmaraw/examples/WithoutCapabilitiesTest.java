package io.rdmaraw.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.Offloads;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Servers of users without capabilities, over veth pairs in namespaces; rdma-raw-broker opens their interfaces.
 * Requests of curl are answered. Requests outside the policy are rejected. If one process is killed, the others
 * continue and no resources remain.
 */
@Timeout(300)
@WithTestNetwork
class WithoutCapabilitiesTest {
    private static final Path BROKER = Path.of("../transport-rdma-raw-native/target/native/rdma-raw-broker");
    private static final int NOBODY = 65534;
    private static final int DAEMON = 1;

    @TempDir
    private static Path directory;
    private static String classPath;

    private NetworkNamespace host;
    private VethPair pair;
    private Path socket;
    private Path policy;

    @BeforeAll
    static void copyClassPath() throws Exception {
        Stage.require("setpriv:util-linux", "curl:curl");
        assumeTrue(Files.isExecutable(BROKER), "needs the broker: make -C transport-rdma-raw-native");
        classPath = DeployingUnitTest.readableClassPath(directory);
    }

    @BeforeEach
    void makeNetwork(TestNetwork network) {
        network.withoutCapture().offloads(Offloads.AS_MADE);
        host = network.namespace();
        pair = network.vethPair(host, network.namespace());
        socket = directory.resolve(host.name() + ".sock");
        policy = directory.resolve(host.name() + ".policy");
    }

    private PeerProcess broker(String... lines) throws Exception {
        Files.writeString(policy, String.join("\n", lines));
        PeerProcess broker = host.start(BROKER.toAbsolutePath().toString(), "--policy", policy.toString(), "--socket",
                socket.toString());
        broker.awaitOutput("serves", Await.PATIENCE);
        return broker;
    }

    private static String line(int user, VethPair pair, String ports) {
        return "user=" + user + " interface=" + pair.ours().name() + " modes=generic,native ports=" + ports;
    }

    private PeerProcess http(int user, VethPair on, int port) {
        return example(user, on, port, "http");
    }

    private PeerProcess example(int user, VethPair on, int port, String... example) {
        List<String> command = new ArrayList<>(List.of("setpriv", "--reuid", "" + user, "--regid", "" + user,
                "--clear-groups", "--inh-caps", "-all", "--bounding-set", "-all", "--no-new-privs", "env",
                "SOFTVERBS_BROKER=" + socket, DeployingUnitTest.java(), "--enable-native-access=ALL-UNNAMED",
                "-Xmx128m", "-cp", classPath, "io.rdmaraw.examples.Main"));
        command.addAll(List.of(example));
        command.addAll(List.of("--transport", "rdma-raw", "--device", "soft:xdp:" + on.ours().name(), "--address",
                on.ours().ipv4(), "--port", "" + port, "--threads", "1"));
        return host.start(command.toArray(String[]::new));
    }

    private PeerProcess listening(int user, VethPair on, int port) {
        PeerProcess server = http(user, on, port);
        server.awaitOutput("is listening on", Await.PATIENCE);
        return server;
    }

    private static void assertAnswers(VethPair on, int port) {
        assertEquals("Hello, World!", on.peer().namespace().run("curl", "-sS", "--max-time", "60",
                "http://" + on.ours().ipv4() + ":" + port + "/plaintext").output());
    }

    private void assertRefused(PeerProcess server, String reason) {
        String output = server.await(Await.PATIENCE).output();
        assertTrue(output.contains(reason), output);
        assertFalse(hasProgram(pair));
    }

    private boolean hasProgram(VethPair on) {
        return host.run("ip", "link", "show", "dev", on.ours().name()).output().contains("xdp");
    }

    private void kill(PeerProcess process) {
        host.run("kill", "-9", "" + process.pid());
        Await.until("the process has ended", () -> !process.isAlive());
    }

    /** Returns the number of connections that the kernel itself accepted. */
    private long passiveOpens() {
        List<String> lines = host.run("cat", "/proc/net/snmp").output().lines()
                .filter(line -> line.startsWith("Tcp:")).toList();
        List<String> names = List.of(lines.get(0).split(" "));
        return Long.parseLong(lines.get(1).split(" ")[names.indexOf("PassiveOpens")]);
    }

    @Test
    void aServerWithoutCapabilitiesAnswersCurl() throws Exception {
        broker(line(NOBODY, pair, "tcp:8080"));
        PeerProcess server = listening(NOBODY, pair, 8080);
        assertAnswers(pair, 8080);
        host.run("ip", "neigh", "flush", "all");
        assertAnswers(pair, 8080);
        assertEquals(0, passiveOpens(), "connections that the kernel has accepted");
        assertFalse(server.output().contains("the kernel's socket may answer"), server.output());
        List<String> status = Files.readAllLines(Path.of("/proc/" + server.pid() + "/status"));
        for (String set : List.of("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")) {
            assertTrue(status.contains(set + ":\t0000000000000000"), () -> String.join("\n", status));
        }
    }

    @Test
    void theBrokerKeepsThreeCapabilitiesAndThatToLockMemory() throws Exception {
        PeerProcess broker = broker(line(NOBODY, pair, "tcp:8080"));
        List<String> status = Files.readAllLines(Path.of("/proc/" + broker.pid() + "/status"));
        // Capability bits: CAP_NET_ADMIN is 12, CAP_NET_RAW 13, CAP_BPF 39. CAP_IPC_LOCK (14) is not required.
        assertTrue(Stream.of("CapPrm", "CapEff").allMatch(set -> status.contains(set + ":\t0000008000003000")
                        || status.contains(set + ":\t0000008000007000")),
                () -> String.join("\n", status));
        assertTrue(status.contains("NoNewPrivs:\t1"));
        assertTrue(status.contains("Seccomp:\t2"), "it is confined to its system calls");
    }

    @Test
    void requestOutsideThePolicyIsRefused(TestNetwork network) throws Exception {
        VethPair other = network.vethPair(host, network.namespace());
        broker(line(NOBODY, pair, "tcp:8080"), line(DAEMON, other, "tcp:8080"));
        assertRefused(http(DAEMON, pair, 8080), "the policy does not grant user 1 '" + pair.ours().name());
        assertRefused(http(NOBODY, other, 8080), "the policy does not grant user 65534 '" + other.ours().name());
        assertRefused(http(NOBODY, pair, 8081), "the policy does not grant user 65534 TCP port 8081 of '"
                + pair.ours().name());
    }

    @Test
    void aPolicyThatOthersCanWriteIsNoPolicy() throws Exception {
        Files.writeString(policy, line(NOBODY, pair, "any"));
        Files.setPosixFilePermissions(policy, PosixFilePermissions.fromString("rw-rw-r--"));
        PeerProcess broker = host.start(BROKER.toAbsolutePath().toString(), "--policy", policy.toString(), "--socket",
                socket.toString());
        String output = broker.await(Await.PATIENCE).output();
        assertTrue(output.contains("others can write"), output);
    }

    /** The broker replaces only an unused socket. A wrong path on the command line destroys no file. */
    @Test
    void aFileWithTheNameOfTheSocketIsKept() throws Exception {
        Files.writeString(policy, line(NOBODY, pair, "tcp:8080"));
        Files.writeString(socket, "kept");
        PeerProcess broker = host.start(BROKER.toAbsolutePath().toString(), "--policy", policy.toString(), "--socket",
                socket.toString());
        String output = broker.await(Await.PATIENCE).output();
        assertTrue(output.contains("another file has this name"), output);
        assertEquals("kept", Files.readString(socket));
    }

    @Test
    void theServerGoesOnWhenTheBrokerIsKilled(TestNetwork network) throws Exception {
        VethPair other = network.vethPair(host, network.namespace());
        String[] lines = {line(NOBODY, pair, "tcp:8080"), line(NOBODY, other, "tcp:8080") + " devices=2"};
        PeerProcess broker = broker(lines);
        PeerProcess server = listening(NOBODY, pair, 8080);
        kill(broker);
        assertAnswers(pair, 8080);
        String output = http(NOBODY, other, 8080).await(Await.PATIENCE).output();
        assertTrue(output.contains("there is no rdma-raw-broker at"), output);
        broker(lines);
        listening(NOBODY, other, 8080);
        assertAnswers(other, 8080);
        assertAnswers(pair, 8080);
        assertTrue(server.isAlive());
    }

    /**
     * An upgrade of the broker. Each request at the proxy needs an outgoing connection with a rule of its own. The next
     * rule resumes the device at the new broker.
     */
    @Test
    void theServerConnectsAfterARestartOfTheBroker() throws Exception {
        Stage.require("python3:python3");
        String line = line(NOBODY, pair, "tcp:8080,tcp:32768-60999");
        Files.writeString(directory.resolve("page"), "from the upstream server");
        pair.peer().namespace().start("python3", "-u", "-m", "http.server", "9000", "--bind", pair.peer().ipv4(),
                "--directory", directory.toString()).awaitOutput("Serving HTTP", Await.PATIENCE);
        PeerProcess broker = broker(line);
        PeerProcess server = example(NOBODY, pair, 8080, "proxy", "--to", pair.peer().ipv4() + ":9000");
        server.awaitOutput("is listening on", Await.PATIENCE);
        assertProxies();
        kill(broker);
        PeerProcess next = broker(line);
        assertProxies();
        next.awaitOutput("'" + pair.ours().name() + "' is resumed", Await.PATIENCE);
        assertProxies();
        assertTrue(server.isAlive());
    }

    private void assertProxies() {
        assertEquals("from the upstream server", pair.peer().namespace().run("curl", "-sS", "--max-time", "60",
                "http://" + pair.ours().ipv4() + ":8080/page").output());
    }

    /** Returns the broker's processes: the acceptor, the reader of the policy, and one session for each client. */
    private List<ProcessHandle> descendants(PeerProcess broker) {
        return ProcessHandle.of(broker.pid()).orElseThrow().descendants().toList();
    }

    /**
     * If any process of the broker is killed, open devices continue to work, and a restarted broker accepts requests.
     */
    @ParameterizedTest
    @ValueSource(strings = {"the broker", "the acceptor", "the reader of the policy", "sessions"})
    void theServerGoesOnWhicheverProcessIsKilled(String which, TestNetwork network) throws Exception {
        VethPair other = network.vethPair(host, network.namespace());
        String[] lines = {line(NOBODY, pair, "tcp:8080"), line(NOBODY, other, "tcp:8080") + " devices=2"};
        PeerProcess broker = broker(lines);
        List<ProcessHandle> both = descendants(broker);
        PeerProcess server = listening(NOBODY, pair, 8080);
        List<ProcessHandle> all = descendants(broker);
        List<ProcessHandle> sessions = all.stream().filter(process -> !both.contains(process)).toList();
        List<ProcessHandle> children = ProcessHandle.of(broker.pid()).orElseThrow().children().toList();
        ProcessHandle acceptor = sessions.getFirst().parent().orElseThrow();
        assertEquals(2, both.size());
        switch (which) {
            case "the broker" -> kill(broker);
            case "the acceptor" -> acceptor.destroyForcibly();
            case "the reader of the policy" -> children.stream().filter(child -> !child.equals(acceptor)).findFirst()
                    .orElseThrow().destroyForcibly();
            default -> sessions.forEach(ProcessHandle::destroyForcibly);
        }
        Await.until("sessions have ended", () -> sessions.stream().noneMatch(ProcessHandle::isAlive));
        assertAnswers(pair, 8080);
        if (!which.equals("sessions")) {
            Await.until("the broker has ended", () -> !broker.isAlive());
            Await.until("its processes have ended", () -> all.stream().noneMatch(ProcessHandle::isAlive));
            broker(lines);
        }
        listening(NOBODY, other, 8080);
        assertAnswers(other, 8080);
        assertAnswers(pair, 8080);
        assertTrue(server.isAlive());
    }

    @Test
    void thePolicyIsReadAgain(TestNetwork network) throws Exception {
        VethPair other = network.vethPair(host, network.namespace());
        PeerProcess broker = broker(line(NOBODY, pair, "tcp:8080"));
        listening(NOBODY, pair, 8080);
        assertTrue(http(NOBODY, other, 8080).await(Await.PATIENCE).output().contains("the policy does not grant"));
        Files.writeString(policy, "wrong");
        host.run("kill", "-HUP", "" + broker.pid());
        broker.awaitOutput("the policy is refused", Await.PATIENCE);
        Files.writeString(policy, line(NOBODY, pair, "tcp:8080") + "\n"
                + line(NOBODY, other, "tcp:8080") + " devices=2");
        host.run("kill", "-HUP", "" + broker.pid());
        broker.awaitOutput("the policy was read again: 2 lines", Await.PATIENCE);
        listening(NOBODY, other, 8080);
        assertAnswers(other, 8080);
        assertAnswers(pair, 8080);
    }

    /** On SIGTERM, the broker removes its socket, so that no client waits for a reply. */
    @Test
    void itEndsInGoodOrder() throws Exception {
        PeerProcess broker = broker(line(NOBODY, pair, "tcp:8080"));
        List<ProcessHandle> all = descendants(broker);
        assertTrue(Files.exists(socket));
        host.run("kill", "-TERM", "" + broker.pid());
        Await.until("the broker has ended", () -> !broker.isAlive());
        Await.until("its processes have ended", () -> all.stream().noneMatch(ProcessHandle::isAlive));
        assertFalse(Files.exists(socket));
    }

    @Test
    void nothingIsLeftOfAServerThatIsKilled() throws Exception {
        PeerProcess broker = broker(line(NOBODY, pair, "tcp:8080"));
        PeerProcess server = listening(NOBODY, pair, 8080);
        assertTrue(hasProgram(pair));
        kill(server);
        Await.until("the program is gone", () -> !hasProgram(pair));
        broker.awaitOutput("is closed", Await.PATIENCE);
        listening(NOBODY, pair, 8080);
        assertAnswers(pair, 8080);
    }

    /**
     * Socket activation as in a systemd unit: systemd creates the socket, and the first connection starts the broker.
     */
    @Test
    void theSocketMayBeSystemds() throws Exception {
        Stage.require("systemd-socket-activate:systemd");
        Files.writeString(policy, line(NOBODY, pair, "tcp:8080"));
        PeerProcess broker = host.start("systemd-socket-activate", "--seqpacket", "-l", socket.toString(),
                BROKER.toAbsolutePath().toString(), "--policy", policy.toString());
        broker.awaitOutput("Listening on", Await.PATIENCE);
        host.run("chmod", "666", socket.toString());
        listening(NOBODY, pair, 8080);
        assertAnswers(pair, 8080);
    }

    @Test
    void twoUsersHaveAnInterfaceEach(TestNetwork network) throws Exception {
        VethPair other = network.vethPair(host, network.namespace());
        broker(line(NOBODY, pair, "tcp:8080"), line(DAEMON, other, "tcp:8081"));
        listening(NOBODY, pair, 8080);
        listening(DAEMON, other, 8081);
        assertAnswers(pair, 8080);
        assertAnswers(other, 8081);
    }
}
