package io.rdmaraw.examples;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.testsuite.golden.GoldenOutput;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Compares the output of the server commands with recorded files; see {@link GoldenOutput}. */
class GoldenOutputTest {
    /** Options that a server requires in addition to its port. */
    private static final Map<String, String> NEEDED = Map.of("proxy", " --to 127.0.0.1:1");
    private static final List<String> WRONG_RUNS = List.of(
            "example",
            "example nothing",
            "example http --transport tcp",
            "example http --transport nio --tuning buffer-ring",
            "example http2 --engine nothing",
            "example http2 --engine openssl",
            "example dns --zone nothing.zone --port 0",
            "example http --device mlx5_99",
            "example http --device soft:xdp:nosuchif0");

    static Stream<String> runs() {
        return Stream.of(Stream.of("example --help"), servers().map(server -> server + " --help"),
                servers().map(server -> server + needed(server) + " --port 99999"), WRONG_RUNS.stream())
                .flatMap(each -> each);
    }

    /** Returns all servers, so that a new one is covered automatically. */
    private static Stream<String> servers() {
        return Main.commandLine().getSubcommands().keySet().stream().map(name -> "example " + name).sorted();
    }

    private static String needed(String server) {
        return NEEDED.getOrDefault(server.substring("example ".length()), "");
    }

    /** Returns runs that start a server. A server runs until it is stopped, so its output is its first line. */
    static Stream<String> plainRuns() {
        return servers().map(server -> server + needed(server) + " --port 0");
    }

    @ParameterizedTest
    @MethodSource("runs")
    void outputOfACommandIsUnchanged(String arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int exitCode = execute(arguments, new PrintWriter(out, true), new PrintWriter(err, true));
        GoldenOutput.check(arguments, exitCode, out.toString(), err.toString());
    }

    private static int execute(String arguments, PrintWriter out, PrintWriter err) {
        CommandLine commandLine = Main.commandLine().setOut(out).setErr(err);
        String rest = arguments.substring("example".length()).strip();
        return commandLine.execute(rest.isEmpty() ? new String[0] : rest.split(" "));
    }

    @ParameterizedTest
    @MethodSource("plainRuns")
    @Timeout(60)
    void aServerSaysWhereItListens(String arguments) throws Exception {
        BlockingQueue<String> lines = new LinkedBlockingQueue<>();
        Thread server = Thread.ofPlatform().start(() -> execute(arguments, new PrintWriter(new Lines(lines), true),
                new PrintWriter(Writer.nullWriter())));
        String line = lines.poll(50, TimeUnit.SECONDS);
        server.interrupt();
        server.join();
        assertTrue(line != null, "it says nothing");
        GoldenOutput.check(arguments, 0, line + '\n', "");
    }

    /** Puts each completed line into a queue. */
    private static final class Lines extends Writer {
        private final BlockingQueue<String> lines;
        private final StringBuilder begun = new StringBuilder();

        Lines(BlockingQueue<String> lines) {
            this.lines = lines;
        }

        @Override
        public void write(char[] buffer, int offset, int length) {
            begun.append(buffer, offset, length);
            for (int end = begun.indexOf("\n"); end >= 0; end = begun.indexOf("\n")) {
                lines.add(begun.substring(0, end));
                begun.delete(0, end + 1);
            }
        }

        @Override
        public void flush() {
        }

        @Override
        public void close() {
        }
    }

    @Test
    void everyFileIsOfARun() {
        GoldenOutput.checkNoOther(Stream.concat(runs(), plainRuns()).toList());
    }

    @Test
    void everyServerHasAPlainRunAndAWrongOne() {
        GoldenOutput.checkEachCommand(servers().toList(), Stream.concat(runs(), plainRuns()).toList(), Map.of());
    }
}
