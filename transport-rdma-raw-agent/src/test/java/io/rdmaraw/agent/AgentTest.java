package io.rdmaraw.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A program that names Netty's transports in all the ways that there are, run with the agent. */
@Timeout(120)
class AgentTest {
    /** What is the same whatever carries the program. */
    private static final Map<String, String> ALWAYS = Map.ofEntries(Map.entry("is a NIO group", "true"),
            Map.entry("is an epoll group", "false"), Map.entry("is a NIO channel", "true"),
            Map.entry("epoll's factory", "true"), Map.entry("local group", "MultiThreadIoEventLoopGroup"),
            Map.entry("of a socket", "NioSocketChannel"), Map.entry("its socket is closed with it", "true"),
            Map.entry("own channel", "OwnChannel"), Map.entry("own channel's socket", "true"),
            Map.entry("answer", "by TCP"), Map.entry("datagram", "by UDP"));

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
        Process process = new ProcessBuilder(AgentJar.java(jvmOptions, program))
                .redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), output);
        assertTrue(output.contains("done"), output);
        assertFalse(output.contains("LEAK"), output);
        assertFalse(output.contains("left as it is") && !output.contains("OwnChannel: it extends"), output);
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
        assertValues(Map.ofEntries(Map.entry("deprecated group", "RdmaRawEventLoopGroup"),
                Map.entry("group", "RdmaRawEventLoopGroup"),
                Map.entry("group by a reference", "RdmaRawEventLoopGroup"),
                Map.entry("made", "RdmaRawSocketChannel"), Map.entry("by a reference", "RdmaRawSocketChannel"),
                Map.entry("epoll's class", "RdmaRawSocketChannel"),
                Map.entry("of a family", "RdmaRawDatagramChannel"), Map.entry("chosen", "RdmaRawServerSocketChannel"),
                Map.entry("server", "RdmaRawServerSocketChannel"), Map.entry("client", "RdmaRawSocketChannel"),
                Map.entry("datagrams", "RdmaRawDatagramChannel"),
                Map.entry("the kernel's client", "Connection refused")), output);
        assertTrue(output.contains("rdma-raw agent: on, with Netty 4.2"), output);
    }

    /** Vert.x does not release buffers that it does not know, and hands them on as they are. */
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

    /** The port that the program chooses is not 1, and 127.0.0.1 is not in 10.0.0.0/8. */
    @Test
    void whatIsNotNamedIsTheKernels() throws Exception {
        String output = run(jar.option("device=soft:loop:agent,listen=1,connect=10.0.0.0/8"));
        assertValues(Map.of("server", "RdmaRawServerSocketChannel", "client", "RdmaRawSocketChannel",
                "datagrams", "NioDatagramChannel", "the kernel's client", "hello"), output);
    }

    @Test
    void aKindOfChannelsThatIsNotNamedIsNios() throws Exception {
        String output = run(jar.option("device=soft:loop:agent,udp=all"));
        assertValues(Map.of("server", "NioServerSocketChannel", "client", "NioSocketChannel",
                "epoll's class", "NioSocketChannel", "datagrams", "RdmaRawDatagramChannel",
                "the kernel's client", "hello"), output);
    }

    @Test
    void withoutItsDeviceAProgramRunsAsWithoutTheAgent() throws Exception {
        String output = run(jar.option("device=soft:xdp:none0"));
        assertValues(valuesIn(run()), output);
        assertTrue(output.contains("the program runs without it: the network interface none0"), output);
    }

    @Test
    void aWrongOptionIsSaidInOneSentence() throws Exception {
        String output = run(jar.option("device=soft:loop,ports=80"));
        assertValues(Map.of("server", "NioServerSocketChannel"), output);
        assertTrue(output.contains("the program runs without it: it has no option 'ports'"), output);
    }
}
