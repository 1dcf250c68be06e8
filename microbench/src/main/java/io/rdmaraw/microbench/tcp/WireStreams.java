package io.rdmaraw.microbench.tcp;

import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.microbench.process.ProcessAffinity;
import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.OffloadsOption;
import io.rdmaraw.microbench.rival.TunedTransport;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.server.ServerNetwork;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Measures a server over a veth pair, with one transport after the other and the same client. Each end has a dedicated
 * core, which also runs the kernel's packet reception for that end.
 */
final class WireStreams {
    /**
     * Time for which a polling client spins before it sleeps. It is far longer than a round trip. The clients of all
     * transports share a core, so an idle client must stop spinning after a few of these periods.
     */
    private static final long POLLED_SPIN_NANOS = 5_000_000;
    /** Maximum duration of the warm-up of a new process, which ends as soon as the JIT compilers are idle. */
    private static final int MAX_WARM_UP_SECONDS = 30;
    private static final int WARM_UP_CONNECTIONS = 64;
    private static final double PERCENT = 100;
    private static final int FLOODED_CONNECTIONS = 64;
    /**
     * Request rate during a flood. It is far below the capacity of every transport, so that a server that keeps up
     * loses nothing.
     */
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
                transport -> transport.isRdmaRaw() ? options.device() : "veth", options, progress);
        figures.say(OffloadsOption.describe(options.offloads()));
        Map<TunedTransport, Setup> setups = new LinkedHashMap<>();
        try (ProcessAffinity _ = ProcessAffinity.pinnedTo(CLIENT_CORE)) {
            for (TunedTransport transport : options.transports()) {
                setups.put(transport, setup(transport));
            }
            for (int run = 1; run <= options.runs(); run++) {
                figures.say(prefix.substring(0, prefix.length() - 1) + ", run " + run + " of " + options.runs());
                for (Map.Entry<TunedTransport, Setup> of : setups.entrySet()) {
                    measure(of.getKey(), of.getValue().ends(), run, figures);
                }
                figures.addRowsTo(report);
            }
        } finally {
            setups.values().forEach(Setup::close);
        }
        figures.addTo(report);
    }

    /** The processes of a transport and their network. They are idle while another transport is measured. */
    private record Setup(ServerNetwork network, StreamEnds ends) {
        void close() {
            ends.close();
            network.close();
        }
    }

    private Setup setup(TunedTransport transport) {
        ServerNetwork network = new ServerNetwork(options.offloads());
        network.receiveOn(SERVER_CORE, CLIENT_CORE);
        network.discardOffLinkTraffic();
        network.serverSide().run("ip", "route", "add", HostilePeers.UNUSED_PREFIX, "dev", network.serverInterface());
        return new Setup(network, new StreamEnds(() -> start(network, transport)));
    }

    private void measure(TunedTransport transport, StreamEnds ends, int run, StreamFigures figures)
            throws InterruptedException {
        List<StreamCase> wanted = options.wanted(prefix, cases());
        if (run == 1 && !wanted.isEmpty()) {
            try {
                warmUp(transport, ends, figures);
            } catch (ToolException e) {
                // The cases will fail as well and report the failure.
                ends.close();
            }
        }
        for (StreamCase streamCase : wanted) {
            figures.measure(streamCase, transport, run, ends, options.settleSeconds());
        }
    }

    private static void warmUp(TunedTransport transport, StreamEnds ends, StreamFigures figures)
            throws InterruptedException {
        double share = ends.warmUp(WARM_UP_CONNECTIONS, MAX_WARM_UP_SECONDS);
        if (share >= StreamEnds.COMPILED_SHARE) {
            figures.say(String.format(Locale.ROOT, "%s: the JIT compilers still use %.0f %% of a core after %d s, which"
                    + " is part of its figures", transport, PERCENT * share, MAX_WARM_UP_SECONDS));
        }
    }

    private StreamEnds.Pair start(ServerNetwork network, TunedTransport transport) {
        TcpPeer server = TcpPeer.start(network.serverSide(), pinnedTo(SERVER_CORE), transport, "--device",
                options.device() + ':' + network.serverInterface(), "--serve", network.serverAddress());
        server.ask("counts");
        return new StreamEnds.Pair(server, options.polled()
                ? TcpPeer.start(network.clientSide(), pinnedTo(CLIENT_CORE),
                        TunedTransport.stock(Transport.RDMA_RAW), "--device",
                        "soft:xdp:" + network.clientInterface(), "--spin-nanos",
                        Long.toString(POLLED_SPIN_NANOS), "--ask",
                        network.serverAddress())
                : TcpPeer.start(network.clientSide(), pinnedTo(CLIENT_CORE),
                        TunedTransport.stock(Transport.EPOLL), "--ask", network.serverAddress()));
    }
}
