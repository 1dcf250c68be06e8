package io.rdmaraw.microbench.wire;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmaraw.microbench.process.NativeProgram;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.CommandResult;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethEnd;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.run.JavaCommand;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * A veth pair between two network namespaces. Servers run at the near end, the generator at the far end. The kernel
 * processes a frame on the core of its sender, including the reception at the other end. Each end therefore has a
 * dedicated core.
 */
final class Wire implements AutoCloseable {
    static final int PORT = 7777;
    private static final int GENERATOR_CORE = 0;
    private static final int MAX_TRIES = 3;
    private static final int SERVER_CORE = 1;
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final double WARM_UP_SLICE_SECONDS = 0.4;
    private static final double SINGLE_SLICE_SECONDS = 0.1;
    /** The JIT compiler is regarded as finished if it uses less than this share of a slice of the warm-up. */
    private static final double COMPILER_DONE = 0.1;
    private static final int MILLIS_PER_SECOND = 1000;

    private final String program = NativeProgram.find("wire-bench");
    private final String verbsProgram = NativeProgram.findPktgen();
    private final TestNetwork network = new TestNetwork("bench-wire", Path.of("."));
    private final VethPair pair;
    private final PrintWriter progress;

    /** @param progress receives a line about each attempt that failed */
    Wire(PrintWriter progress) {
        this.progress = progress;
        try {
            pair = network.withoutCapture().vethPair(network.namespace(), network.namespace());
            introduce(pair.ours(), pair.peer());
            introduce(pair.peer(), pair.ours());
        } catch (RuntimeException e) {
            network.close();
            throw new ToolException("no network to measure on could be made: " + e.getMessage()
                    + " (this needs root, ip and ethtool)", e);
        }
    }

    /** Adds a permanent neighbour entry, because the generator does not answer ARP. */
    private static void introduce(VethEnd end, VethEnd neighbor) {
        end.namespace().run("ip", "neigh", "replace", neighbor.ipv4(), "lladdr", neighbor.mac(), "dev", end.name(),
                "nud", "permanent");
    }

    String serverAddress() {
        return pair.ours().ipv4();
    }

    /** Starts the Java process of a transport, which does not open its channel yet. */
    Server startServer(WireTransport transport) {
        List<String> command = JavaCommand.of("io.rdmaraw.microbench.Main");
        command.addAll(List.of("bench", "wire-server", "--transport", transport.name(), "--interface",
                pair.ours().name(), "--address", pair.ours().ipv4(), "--port", Integer.toString(PORT), "--core",
                Integer.toString(SERVER_CORE)));
        return new Server(pair.ours().namespace().start(command.toArray(String[]::new)));
    }

    /** Starts the C echo on AF_XDP. */
    PeerProcess startC() {
        return ready(pair.ours().namespace().start(program, "echo", "--interface", pair.ours().name(), "--port",
                Integer.toString(PORT), "--cpu", Integer.toString(SERVER_CORE)));
    }

    /**
     * Starts the C echo on libibverbs with softverbs. The comparison with it separates the cost of Java from that of
     * the device.
     */
    PeerProcess startVerbsC() {
        String device = "xdp:" + pair.ours().name();
        return ready(pair.ours().namespace().start("env", "LD_LIBRARY_PATH=" + NativeProgram.softverbsPath(),
                "SOFTVERBS_DEVICES=" + device, verbsProgram, "echo", "--device", device, "--to", pair.ours().ipv4(),
                "--port", Integer.toString(PORT), "--core", Integer.toString(SERVER_CORE)));
    }

    private static PeerProcess ready(PeerProcess echo) {
        echo.awaitOutput("ready", LIMIT);
        return echo;
    }

    /**
     * Lets a server echo until its JIT compiler has finished. With both cores busy this takes seconds. A measurement
     * during that time would measure the interpreter.
     *
     * @param maxSeconds maximum duration; if the compiler has not finished by then, a progress line reports it
     */
    void warmUp(Server server, int window, int frameBytes, double maxSeconds) {
        long before = server.compiledMillis();
        for (double seconds = 0; seconds < maxSeconds; seconds += WARM_UP_SLICE_SECONDS + SINGLE_SLICE_SECONDS) {
            generate(window, frameBytes, WARM_UP_SLICE_SECONDS);
            generate(1, frameBytes, SINGLE_SLICE_SECONDS);
            long now = server.compiledMillis();
            if (now - before < COMPILER_DONE * WARM_UP_SLICE_SECONDS * MILLIS_PER_SECOND) {
                return;
            }
            before = now;
        }
        progress.println("the compiler is not done after " + maxSeconds + " s of warm-up");
        progress.flush();
    }

    /**
     * Runs the generator and returns its report. On a busy machine a server may get no processor time during a short
     * measurement. The run is then repeated, and a progress line reports it.
     */
    JsonNode generate(int window, int frameBytes, double seconds) {
        CommandResult run = attempt(window, frameBytes, seconds);
        for (int tries = 1; run.exitCode() != 0 && tries < MAX_TRIES; tries++) {
            progress.println("the generator failed, attempt " + (tries + 1) + " of " + MAX_TRIES + " follows: "
                    + run.output().strip());
            progress.flush();
            run = attempt(window, frameBytes, seconds);
        }
        return result(run);
    }

    private CommandResult attempt(int window, int frameBytes, double seconds) {
        return pair.peer().namespace().attempt(program, "generate", "--interface", pair.peer().name(),
                "--from-mac", pair.peer().mac(), "--to-mac", pair.ours().mac(), "--from", pair.peer().ipv4(), "--to",
                pair.ours().ipv4(), "--port", Integer.toString(PORT), "--window", Integer.toString(window), "--length",
                Integer.toString(frameBytes), "--seconds", Double.toString(seconds), "--cpu",
                Integer.toString(GENERATOR_CORE));
    }

    /** Enables the offloads of both interfaces, which is the kernel's default. */
    void offloadsOn() {
        for (VethEnd end : List.of(pair.ours(), pair.peer())) {
            end.namespace().run("ethtool", "-K", end.name(), "tx", "on", "tso", "on", "gso", "on");
        }
    }

    /** Returns the throughput of one kernel TCP connection to the near end, in gigabits per second. */
    double tcpThroughput(double seconds) {
        String port = Integer.toString(PORT + 1);
        NetworkNamespace near = pair.ours().namespace();
        try (PeerProcess sink = near.start(program, "tcp-sink", "--to", pair.ours().ipv4(), "--port", port)) {
            sink.awaitOutput("ready", LIMIT);
            pair.peer().namespace().run(program, "tcp-source", "--to", pair.ours().ipv4(), "--port", port,
                    "--seconds", Double.toString(seconds));
            return result(sink.await(LIMIT)).required("gbitPerSecond").asDouble();
        }
    }

    private static JsonNode result(CommandResult run) {
        String output = run.output().strip();
        if (run.exitCode() != 0) {
            throw new ToolException(String.join(" ", run.command()) + " failed: " + output);
        }
        try {
            return new ObjectMapper().readTree(output.substring(output.lastIndexOf('\n') + 1));
        } catch (JsonProcessingException e) {
            throw new ToolException(String.join(" ", run.command()) + " printed no result: " + output, e);
        }
    }

    @Override
    public void close() {
        network.close();
    }

    /** Controls the Java process of one transport. */
    static final class Server implements AutoCloseable {
        private final PeerProcess process;
        private int answers;

        private Server(PeerProcess process) {
            this.process = process;
        }

        long pid() {
            return process.pid();
        }

        void open() {
            ask("open");
        }

        void closeChannel() {
            ask("close");
        }

        /** Returns the number of bytes that the event loop of the server has allocated since the last call. */
        long allocatedBytes() {
            return Long.parseLong(ask("alloc").split(" ")[1]);
        }

        /** Returns the time that the JIT compiler has used so far, in milliseconds. */
        long compiledMillis() {
            return Long.parseLong(ask("compiled").split(" ")[1]);
        }

        /** Returns the median time to add and remove a rule, in nanoseconds. */
        long ruleNanos(int pairs) {
            String[] words = ask("rules " + pairs).split(" ");
            return Long.parseLong(words[1]);
        }

        private String ask(String what) {
            process.send(what + '\n');
            int expected = ++answers;
            Await.until("an answer to '" + what + '\'', LIMIT, () -> {
                if (!process.isAlive()) {
                    throw new ToolException("the server ended: " + process.output().strip());
                }
                return lines().size() >= expected;
            });
            return lines().get(expected - 1);
        }

        private List<String> lines() {
            String output = process.output();
            return output.substring(0, output.lastIndexOf('\n') + 1).lines().filter(line -> line.startsWith("done"))
                    .toList();
        }

        @Override
        public void close() {
            process.close();
        }
    }
}
