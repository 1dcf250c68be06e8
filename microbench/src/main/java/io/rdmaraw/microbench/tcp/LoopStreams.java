package io.rdmaraw.microbench.tcp;

import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.rival.TunedTransport;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Measures a server and a client on the same host, each on a dedicated event loop. On the loopback device both run in
 * one process. The transports of Netty use the kernel's loopback interface and need two processes: ten thousand
 * connections have twenty thousand ends, which would exceed the limit of open files of one process.
 */
final class LoopStreams {
    private static final String PREFIX = "tcp.loop.";
    private static final String EVERY_ADDRESS = "0.0.0.0";
    private static final String LOOPBACK = "127.0.0.1";
    /**
     * Port of the first transport. The processes of the kernel transports are on the same host and need different
     * ports.
     */
    private static final int PORT = 25_400;
    private static final int PORTS_PER_TRANSPORT = 10;
    /** Duration of a warm-up run, as a multiple of the settle time of a measurement. */
    private static final int WARM_UP_SETTLES = 4;
    private static final int PARALLEL = 64;

    private final StreamOptions options;
    private final PrintWriter progress;

    LoopStreams(StreamOptions options, PrintWriter progress) {
        this.options = options;
        this.progress = progress;
    }

    private static List<StreamCase> cases() {
        return List.of(requests(1), requests(64), requests(1_000), requests(10_000), new StreamCase.Bulk(true),
                new StreamCase.ConnectAndClose(PARALLEL), new StreamCase.IdleHeap(1_000));
    }

    private static StreamCase requests(int connections) {
        return new StreamCase.RequestResponse(connections, StreamCase.Cores.SHARED);
    }

    void addTo(BenchReport report) throws InterruptedException {
        StreamFigures figures = new StreamFigures(PREFIX,
                transport -> transport.isRdmaRaw() ? "soft:loop" : "lo", options, progress);
        Map<TunedTransport, StreamEnds> ends = new LinkedHashMap<>();
        try (TestNetwork network = new TestNetwork("bench-tcp", Path.of("."))) {
            for (TunedTransport transport : options.transports()) {
                ends.put(transport, new StreamEnds(() -> start(network.current(), transport)));
            }
            for (StreamCase streamCase : options.wanted(PREFIX, cases())) {
                measure(streamCase, ends, figures);
                figures.addRowsTo(report);
            }
        } finally {
            ends.values().forEach(StreamEnds::close);
        }
        figures.addTo(report);
    }

    private StreamEnds.Pair start(NetworkNamespace here, TunedTransport transport) {
        String port = Integer.toString(PORT + PORTS_PER_TRANSPORT * options.transports().indexOf(transport));
        if (transport.isRdmaRaw()) {
            TcpPeer both = TcpPeer.start(here, List.of(), transport, "--serve", EVERY_ADDRESS, "--ask", LOOPBACK,
                    "--port", port);
            return new StreamEnds.Pair(both, both);
        }
        TcpPeer server = TcpPeer.start(here, List.of(), transport, "--serve", EVERY_ADDRESS, "--port", port);
        server.ask("counts");
        return new StreamEnds.Pair(server,
                TcpPeer.start(here, List.of(), transport, "--ask", LOOPBACK, "--port", port));
    }

    private void measure(StreamCase streamCase, Map<TunedTransport, StreamEnds> ends, StreamFigures figures)
            throws InterruptedException {
        figures.say(PREFIX + streamCase.name());
        for (int run = streamCase.warmsUp() ? 0 : 1; run <= options.runs(); run++) {
            for (Map.Entry<TunedTransport, StreamEnds> of : ends.entrySet()) {
                figures.measure(streamCase, of.getKey(), run, of.getValue(),
                        run == 0 ? WARM_UP_SETTLES * options.settleSeconds() : options.settleSeconds());
            }
        }
    }
}
