package io.rdmaraw.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Runs programs that name Netty's transports in every possible way with the agent. */
@Timeout(120)
class AgentTest {
    /** Output lines that are the same with any transport. */
    private static final Map<String, String> ALWAYS = Map.ofEntries(Map.entry("is a NIO group", "true"),
            Map.entry("is an epoll group", "false"), Map.entry("is a NIO channel", "true"),
            Map.entry("epoll's factory", "true"), Map.entry("epoll's class", "EpollSocketChannel"),
            Map.entry("deprecated group", "NioEventLoopGroup"), Map.entry("group", "MultiThreadIoEventLoopGroup"),
            Map.entry("group by a reference", "MultiThreadIoEventLoopGroup"),
            Map.entry("local group", "MultiThreadIoEventLoopGroup"),
            Map.entry("of a socket", "NioSocketChannel"), Map.entry("its socket is closed with it", "true"),
            Map.entry("own channel", "OwnChannel"), Map.entry("own channel's socket", "true"),
            Map.entry("answer", "by TCP"), Map.entry("datagram", "by UDP"));

    private static final int PATIENCE_SECONDS = 60;

    @TempDir
    private static Path directory;
    private static AgentJar jar;

    @BeforeAll
    static void make() throws IOException {
        jar = new AgentJar(directory);
    }

    private static String run(String... jvmOptions) throws Exception {
        return run("program.Callers", List.of(jvmOptions));
    }

    private static String run(String program, List<String> jvmOptions) throws Exception {
        return run(AgentJar.java(jvmOptions, program));
    }

    private static String run(List<String> command) throws Exception {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        // Stops the program at the time limit, which also ends its output. A program that hangs then fails only its own
        // test.
        process.onExit().orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .whenComplete((ended, late) -> process.destroyForcibly());
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), output);
        assertTrue(output.contains("done"), output);
        assertFalse(output.contains("LEAK"), output);
        List<String> left = output.lines().filter(line -> line.contains("left as it is")).toList();
        assertTrue(left.isEmpty() || left.toString().contains("OwnChannel: it extends")
                || left.toString().contains("EpollIfItIs$Information"), output);
        return output;
    }

    private static Map<String, String> valuesIn(String output) {
        return output.lines().filter(line -> line.contains(": ") && !line.startsWith("rdma-raw agent"))
                .collect(Collectors.toMap(line -> line.substring(0, line.indexOf(": ")),
                        line -> line.substring(line.indexOf(": ") + 2), (first, second) -> first));
    }

    private static void assertValues(Map<String, String> expected, String output) {
        Map<String, String> values = valuesIn(output);
        ALWAYS.forEach((name, value) -> assertEquals(value, values.get(name), () -> name + "\n" + output));
        expected.forEach((name, value) -> assertEquals(value, values.get(name), () -> name + "\n" + output));
    }

    @Test
    void eachWayToNameATransportIsReplaced() throws Exception {
        String output = run(jar.option("device=soft:loop:agent"));
        assertValues(Map.ofEntries(Map.entry("made", "RdmaRawSocketChannel"),
                Map.entry("by a reference", "RdmaRawSocketChannel"),
                Map.entry("of a family", "RdmaRawDatagramChannel"), Map.entry("chosen", "RdmaRawServerSocketChannel"),
                Map.entry("server", "RdmaRawServerSocketChannel"), Map.entry("client", "RdmaRawSocketChannel"),
                Map.entry("datagrams", "RdmaRawDatagramChannel"),
                Map.entry("the kernel's client", "Connection refused")), output);
        assertTrue(output.contains("rdma-raw agent: on, with Netty 4.2"), output);
    }

    /**
     * These programs work with types of Netty's channels and groups. Their results are the same with this transport.
     */
    @ParameterizedTest
    @ValueSource(strings = {"GroupTypes", "ChannelTypes", "EpollIfItIs", "EpollDomain"})
    void typesOfNettyStayWhereChannelsAreMoved(String program) throws Exception {
        String alone = run("program." + program, List.of());
        String moved = run("program." + program, List.of(jar.option("device=soft:loop:agent")));
        assertTrue(moved.contains("rdma-raw agent: on, with Netty 4.2"), moved);
        assertEquals(withoutAgent(alone), withoutAgent(moved));
        String missing = run("program." + program, List.of(jar.option("device=soft:xdp:none0")));
        assertEquals(withoutAgent(alone), withoutAgent(missing));
    }

    @Test
    void aProgramThatNeedsEpollsChannelsStaysOnEpoll() throws Exception {
        String moved = run("program.EpollOnly", List.of(jar.option("device=soft:loop:agent")));
        assertTrue(moved.contains("the program runs without it: program.EpollOnly$Information: it calls "
                + "EpollSocketChannel.config, which only that class has"), moved);
        assertEquals(withoutAgent(run("program.EpollOnly", List.of())), withoutAgent(moved));
    }

    /** Netty 4.1 lacks classes that the transport needs, so the program runs unchanged. */
    @Test
    void aProgramWithNetty41RunsAsWithoutTheAgent() throws Exception {
        List<String> libraries = netty41();
        String alone = run(AgentJar.java(List.of(), libraries, "program.OldNetty"));
        String output = run(AgentJar.java(List.of(jar.option("device=soft:loop:agent")), libraries,
                "program.OldNetty"));
        assertEquals(withoutAgent(alone), withoutAgent(output));
        assertEquals(List.of("rdma-raw agent: the program runs without it: Netty 4.1.138.Final is too old for the "
                + "transport, which wants Netty 4.2.7 or newer"), output.lines()
                        .filter(line -> line.startsWith("rdma-raw agent: the program")).toList());
    }

    private static List<String> netty41() throws IOException {
        try (Stream<Path> jars = Files.list(Path.of(System.getProperty("netty41")))) {
            return jars.map(Path::toString).toList();
        }
    }

    /** Removes the lines printed by the agent and the JVM. */
    private static String withoutAgent(String output) {
        return output.lines().filter(line -> !line.startsWith("rdma-raw agent") && !line.contains("VM warning"))
                .filter(line -> !line.contains("rebuildSelector0") && !line.contains("to the new Selector"))
                .collect(Collectors.joining("\n"));
    }

    /**
     * Vert.x neither copies nor releases buffers of unknown classes. Received datagrams must therefore reach it in
     * buffers that it recognizes.
     */
    @Test
    void datagramsOfVertxAreCopiedAndReleased() throws Exception {
        String output = run("program.VertxDatagrams", List.of(jar.option("device=soft:loop:agent,udp=all")));
        List<String> answers = output.lines().filter(line -> line.startsWith("answer: ")).toList();
        assertEquals(100, answers.size(), output);
        assertEquals("answer: datagram 99", answers.getLast());
        assertEquals(List.of("buffer: Vert.x' own"),
                output.lines().filter(line -> line.startsWith("buffer: ")).distinct().toList(), output);
        assertTrue(output.contains("rdma-raw agent: on, with Netty 4.2"), output);
    }

    /**
     * Connections outside the agent's options use the kernel: the program's port is not 1, and 127.0.0.1 is not in
     * 10.0.0.0/8.
     */
    @Test
    void connectionsOutsideTheOptionsUseTheKernel() throws Exception {
        String output = run(jar.option("device=soft:loop:agent,listen=1,connect=10.0.0.0/8"));
        assertValues(Map.of("server", "RdmaRawServerSocketChannel", "client", "RdmaRawSocketChannel",
                "datagrams", "NioDatagramChannel", "the kernel's client", "hello"), output);
    }

    @Test
    void aKindOfChannelsThatIsNotNamedIsNios() throws Exception {
        String output = run(jar.option("device=soft:loop:agent,udp=all"));
        assertValues(Map.of("server", "NioServerSocketChannel", "client", "NioSocketChannel",
                "datagrams", "RdmaRawDatagramChannel",
                "the kernel's client", "hello"), output);
    }

    @Test
    void withoutItsDeviceAProgramRunsAsWithoutTheAgent() throws Exception {
        String output = run(jar.option("device=soft:xdp:none0"));
        assertValues(valuesIn(run()), output);
        assertTrue(output.contains("the program runs without it: the network interface none0"), output);
    }

    @Test
    void wrongOptionIsReportedInOneSentence() throws Exception {
        String output = run(jar.option("device=soft:loop,ports=80"));
        assertValues(Map.of("server", "NioServerSocketChannel"), output);
        assertTrue(output.contains("the program runs without it: it has no option 'ports'"), output);
        assertTrue(run(jar.option("devise=soft:loop")).contains("it has no option 'devise'"));
    }
}
