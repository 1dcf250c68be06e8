package io.rdmaraw.microbench.tcp;

import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.microbench.process.ProcessAffinity;
import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.OffloadsOption;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.server.ServerNetwork;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * A server on one transport after the other, at the near end of a veth pair, with the same client at the far end.
 * Each end has a core of its own, on which the kernel also receives for it.
 */
final class WireStreams {
    /**
     * Far longer than a round trip takes. The clients of all transports have one core: those that have nothing to do
     * stop spinning after a few of these.
     */
    private static final long POLLED_SPIN_NANOS = 5_000_000;
    /** Maximum factor of the time before a measurement in a new process, whose compiler has not finished. */
    private static final int WARM_UP_SETTLES = 20;
    private static final int WARM_UP_CONNECTIONS = 64;
    private static final int FLOODED_CONNECTIONS = 64;
    /** Far less than any transport can answer, so that a server that keeps up loses nothing. */
    private static final int FLOODED_REQUESTS_PER_SECOND = 10_000;
    private static final int CLIENT_CORE = 0;
    static final int SERVER_CORE = 1;

    private final StreamOptions options;
    private final PrintWriter progress;
    private final String prefix;

    WireStreams(StreamOptions options, PrintWriter progress) {
        this.options = options;
        this.progress = progress;
        prefix = options.polled() ? "tcp.polled." : "tcp.wire.";
    }

    private List<StreamCase> cases() {
        StreamCase.Cores cores = options.polled() ? StreamCase.Cores.CLIENT_POLLS : StreamCase.Cores.APART;
        List<StreamCase> requests = List.of(new StreamCase.RequestResponse(1, cores),
                new StreamCase.RequestResponse(64, cores), new StreamCase.RequestResponse(1_000, cores));
        if (options.polled()) {
            return requests;
        }
        List<StreamCase> others = List.of(new StreamCase.Bulk(true), new StreamCase.Bulk(false),
                new StreamCase.Flood(FLOODED_CONNECTIONS, FLOODED_REQUESTS_PER_SECOND, options.flood()));
        return Stream.of(requests.stream(), others.stream(), hostileCases()).flatMap(each -> each).toList();
    }

    private static Stream<StreamCase> hostileCases() {
        return Arrays.stream(HostileKind.values())
                .map(kind -> new StreamCase.Hostile(FLOODED_CONNECTIONS, FLOODED_REQUESTS_PER_SECOND, kind));
    }

    private static List<String> pinnedTo(int core) {
        return List.of("taskset", "-c", Integer.toString(core));
    }

    void addTo(BenchReport report) throws InterruptedException {
        ServerNetwork.require("taskset", "util-linux");
        StreamFigures figures = new StreamFigures(prefix,
                transport -> transport == Transport.RDMA_RAW ? options.device() : "veth", options, progress);
        figures.say(OffloadsOption.describe(options.offloads()));
        Map<Transport, Stand> stands = new EnumMap<>(Transport.class);
        try (ProcessAffinity _ = ProcessAffinity.pinnedTo(CLIENT_CORE)) {
            for (Transport transport : options.transports()) {
                stands.put(transport, stand(transport));
            }
            for (int run = 1; run <= options.runs(); run++) {
                figures.say(prefix.substring(0, prefix.length() - 1) + ", run " + run + " of " + options.runs());
                for (Map.Entry<Transport, Stand> of : stands.entrySet()) {
                    measure(of.getKey(), of.getValue().ends(), run, figures);
                }
                figures.addRowsTo(report);
            }
        } finally {
            stands.values().forEach(Stand::close);
        }
        figures.addTo(report);
    }

    /** The processes of a transport on a network of their own. They are idle while another transport is measured. */
    private record Stand(ServerNetwork network, StreamEnds ends) {
        void close() {
            ends.close();
            network.close();
        }
    }

    private Stand stand(Transport transport) {
        ServerNetwork network = new ServerNetwork(options.offloads());
        network.receiveOn(SERVER_CORE, CLIENT_CORE);
        network.discardOffLinkTraffic();
        network.serverSide().run("ip", "route", "add", HostilePeers.UNUSED_PREFIX, "dev", network.serverInterface());
        return new Stand(network, new StreamEnds(() -> start(network, transport)));
    }

    private void measure(Transport transport, StreamEnds ends, int run, StreamFigures figures)
            throws InterruptedException {
        List<StreamCase> wanted = options.wanted(prefix, cases());
        if (run == 1 && !wanted.isEmpty()) {
            try {
                ends.warmUp(WARM_UP_CONNECTIONS, WARM_UP_SETTLES * options.settleSeconds());
            } catch (ToolException e) {
                // The cases find out for themselves, and say so.
                ends.close();
            }
        }
        for (StreamCase streamCase : wanted) {
            figures.measure(streamCase, transport, run, ends, options.settleSeconds());
        }
    }

    private StreamEnds.Pair start(ServerNetwork network, Transport transport) {
        TcpPeer server = TcpPeer.start(network.serverSide(), pinnedTo(SERVER_CORE), transport, "--device",
                options.device() + ':' + network.serverInterface(), "--serve", network.serverAddress());
        server.ask("counts");
        return new StreamEnds.Pair(server, options.polled()
                ? TcpPeer.start(network.clientSide(), pinnedTo(CLIENT_CORE), Transport.RDMA_RAW, "--device",
                        "soft:xdp:" + network.clientInterface(), "--spin-nanos",
                        Long.toString(POLLED_SPIN_NANOS), "--ask",
                        network.serverAddress())
                : TcpPeer.start(network.clientSide(), pinnedTo(CLIENT_CORE), Transport.EPOLL, "--ask",
                        network.serverAddress()));
    }
}
