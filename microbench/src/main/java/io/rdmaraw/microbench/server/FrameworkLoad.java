package io.rdmaraw.microbench.server;

import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.server.ServerNetwork;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Sends requests to a server of {@code examples/frameworks}, with one outstanding request on each connection. */
final class FrameworkLoad implements LoadGenerator {
    /** The frameworks and their servers. */
    enum Framework {
        VERTX("vertx", "VertxServer"), REACTOR_NETTY("reactor-netty", "ReactorNettyServer"), GRPC("grpc", "GrpcServer");

        private final String text;
        private final String mainClass;

        Framework(String text, String mainClass) {
            this.text = text;
            this.mainClass = mainClass;
        }

        String text() {
            return text;
        }
    }

    private static final String DIRECTORY = "examples/frameworks/target";
    private static final String PACKAGE = "io.rdmaraw.examples.frameworks.";
    private static final String NAME = "bench";
    private static final int PREFIX_BYTES = 5;
    private static final int ANSWER_BYTES = PREFIX_BYTES + ("Hello, " + NAME + "!").length();
    /** Minimum duration of a run. The first answer of a server without compiled code may take a second. */
    private static final long MIN_GRPC_SECONDS = 3;

    private final Framework framework;
    private final int connections;

    FrameworkLoad(Framework framework, int connections) {
        this.framework = framework;
        this.connections = connections;
        if (framework == Framework.GRPC) {
            ServerNetwork.require("h2load", "nghttp2-client");
        } else {
            ServerNetwork.require("wrk", "wrk");
        }
    }

    @Override
    public List<String> serverCommand() {
        Path built = Path.of(System.getProperty("rdmaraw.home", "."), DIRECTORY).toAbsolutePath();
        if (!Files.isDirectory(built.resolve("lib"))) {
            throw new ToolException(built + " has no built servers: run ./rdma-raw build");
        }
        // With these options a profiler can locate inlined methods.
        return List.of(ProcessHandle.current().info().command().orElseThrow(), "--enable-native-access=ALL-UNNAMED",
                "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints", "-cp", built + "/*:" + built + "/lib/*",
                PACKAGE + framework.mainClass);
    }

    /** Returns the options that select the device of this transport. Without them a framework uses epoll. */
    @Override
    public String[] options(ServerTransport transport, String networkInterface) {
        return transport == ServerTransport.RDMA_RAW
                ? new String[] {"--device", transport.device() + ':' + networkInterface} : new String[0];
    }

    @Override
    public String caseName() {
        return "frameworks." + framework.text() + ".conns" + connections;
    }

    @Override
    public boolean reportsShares() {
        return true;
    }

    @Override
    public Load run(ServerNetwork network, List<String> prefix, int port, double seconds) {
        String site = "http://" + network.serverAddress() + ':' + port;
        List<String> command = new ArrayList<>(prefix);
        long wholeSeconds = Math.max(1, Math.round(seconds));
        if (framework != Framework.GRPC) {
            command.addAll(List.of("wrk", "--latency", "-t1", "-c" + connections, "-d" + wholeSeconds + 's',
                    site + '/'));
            return WrkReport.read(network.runClient(command.toArray(String[]::new)));
        }
        Path request = request();
        try {
            command.addAll(List.of("h2load", "-t1", "-c" + connections, "-m1", "-D"
                    + Math.max(MIN_GRPC_SECONDS, wholeSeconds), "-d",
                    request.toString(), "-H", "content-type: application/grpc", "-H", "te: trailers",
                    site + "/hello/Say"));
            return read(network.runClient(command.toArray(String[]::new)));
        } finally {
            request.toFile().delete();
        }
    }

    /** Writes an uncompressed gRPC message to a file. It consists of a flag, the length in four bytes, and the text. */
    private static Path request() {
        byte[] message = new byte[PREFIX_BYTES + NAME.length()];
        message[PREFIX_BYTES - 1] = (byte) NAME.length();
        System.arraycopy(NAME.getBytes(StandardCharsets.US_ASCII), 0, message, PREFIX_BYTES, NAME.length());
        try {
            return Files.write(Files.createTempFile("rdma-raw-grpc", ".request"), message);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Parses a report of h2load. */
    static Load read(String report) {
        long right = Patterns.count("status codes: (\\d+) 2xx", report);
        if (right == 0) {
            throw new ToolException("h2load had no answer at all: " + report.strip());
        }
        // gRPC reports errors in trailers after the status 200, without a message. The check is lenient because the
        // last answers may be incomplete.
        long dataBytes = Patterns.count("headers .* \\((\\d+)\\) data", report);
        if (dataBytes < right * ANSWER_BYTES / 2) {
            throw new ToolException("gRPC's server answered by errors: " + report.strip());
        }
        long wrong = Patterns.count("requests: .* (\\d+) failed", report);
        return new Load(right, wrong, Double.NaN, Map.of(), null);
    }
}
