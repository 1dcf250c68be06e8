package io.rdmaraw.tools.bench.tcp;

import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.tools.report.BenchReport;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * Server and client each on a loop of its own: by the loop device, in one process, and by Netty's own transports over
 * the kernel's loopback interface, in two, as ten thousand connections have twenty thousand ends, which is more than a
 * process may have files.
 */
final class LoopStreams {
    private static final String EVERY_ADDRESS = "0.0.0.0";
    private static final String LOOPBACK = "127.0.0.1";
    /** The first; the processes of the kernel's transports are on one host. */
    private static final int PORT = 25_400;
    private static final int PORTS_PER_TRANSPORT = 10;
    private static final int PARALLEL = 64;

    private record Ends(TcpPeer server, TcpPeer client) {
        void close() {
            client.close();
            server.close();
        }
    }

    private final StreamOptions options;
    private final PrintWriter progress;
    private final Map<Transport, Ends> ends = new EnumMap<>(Transport.class);

    LoopStreams(StreamOptions options, PrintWriter progress) {
        this.options = options;
        this.progress = progress;
    }

    private static List<StreamCase> cases() {
        return List.of(new StreamCase.RequestResponse(1, false), new StreamCase.RequestResponse(64, false),
                new StreamCase.RequestResponse(1_000, false), new StreamCase.RequestResponse(10_000, false),
                new StreamCase.Bulk(true), new StreamCase.ConnectAndClose(PARALLEL), new StreamCase.IdleHeap(1_000));
    }

    void addTo(BenchReport report) throws InterruptedException {
        StreamFigures figures = new StreamFigures("tcp.loop.",
                transport -> transport == Transport.RDMA_RAW ? "soft:loop" : "lo");
        try (TestNetwork network = new TestNetwork("bench-tcp", Path.of("."))) {
            for (Transport transport : options.transports()) {
                ends.put(transport, start(network.current(), transport));
            }
            for (StreamCase streamCase : cases()) {
                measure(streamCase, figures);
            }
        } finally {
            ends.values().forEach(Ends::close);
        }
        figures.addTo(report);
    }

    private static Ends start(NetworkNamespace here, Transport transport) {
        String port = Integer.toString(PORT + PORTS_PER_TRANSPORT * transport.ordinal());
        if (transport == Transport.RDMA_RAW) {
            TcpPeer both = TcpPeer.start(here, List.of(), transport, "--serve", EVERY_ADDRESS, "--ask", LOOPBACK,
                    "--port", port);
            return new Ends(both, both);
        }
        TcpPeer server = TcpPeer.start(here, List.of(), transport, "--serve", EVERY_ADDRESS, "--port", port);
        server.ask("counts");
        return new Ends(server, TcpPeer.start(here, List.of(), transport, "--ask", LOOPBACK, "--port", port));
    }

    private void measure(StreamCase streamCase, StreamFigures figures) throws InterruptedException {
        progress.println("tcp.loop." + streamCase.name());
        progress.flush();
        // The first time warms the compiler up.
        for (int run = 0; run <= options.runs(); run++) {
            for (Map.Entry<Transport, Ends> of : ends.entrySet()) {
                Map<String, StreamCase.Figure> measured = streamCase.measure(of.getValue().server(),
                        of.getValue().client(), options.settleSeconds(), options.seconds());
                if (run > 0) {
                    figures.add(streamCase.name(), of.getKey(), measured);
                }
            }
        }
    }
}
