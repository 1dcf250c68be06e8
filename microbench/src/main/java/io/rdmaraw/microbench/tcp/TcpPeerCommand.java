package io.rdmaraw.microbench.tcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.examples.server.Tuning;
import io.rdmaraw.metrics.RdmaRawLoopStatistics;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.RdmaRawQueueStatistics;
import io.rdmaraw.microbench.rival.TunedTransport;
import io.rdmaraw.tools.output.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.Callable;
import org.HdrHistogram.Histogram;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * The process of one transport in {@link TcpCommand}: a server, a client, or both. Each transport has a separate
 * process, so that transports do not share JIT-compiled code. Each line of the input is a command, and the process
 * answers it with one line of JSON. It ends when its input ends.
 */
@Command(name = "tcp-peer", hidden = true, description = "A process of bench tcp, which reads commands from its input.")
public final class TcpPeerCommand implements Callable<Integer> {
    private static final int GC_ROUNDS = 4;
    private static final double MEDIAN = 50;
    private static final double TAIL = 99;
    private static final double FAR_TAIL = 99.9;

    @Option(names = "--transport", required = true)
    private Transport transport;

    @Option(names = "--tuning", split = ",", converter = Tuning.Names.class, completionCandidates = Tuning.Names.class)
    private Set<Tuning> tuning = Set.of();

    @Option(names = "--device", defaultValue = "soft:loop")
    private String device;

    @Option(names = "--serve", paramLabel = "ADDRESS", description = "listen there")
    private String serverAddress;

    @Option(names = "--ask", paramLabel = "ADDRESS", description = "be the client of a server there")
    private String clientOf;

    @Option(names = "--spin-nanos", paramLabel = "N", description = "how long a client of ours polls before it sleeps")
    private long spinNanos = RdmaRawIoHandlerConfig.defaults().spinNanos();

    @Option(names = "--port", description = "the first port of the server", defaultValue = "5400")
    private int firstPort;

    @Spec
    private CommandSpec spec;

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private StreamServer server;
    private StreamClient client;

    @Override
    public Integer call() throws IOException, InterruptedException {
        Tuning.setProperties(tuning);
        TunedTransport tuned = new TunedTransport(transport, tuning);
        server = serverAddress == null ? null : new StreamServer(tuned, device, serverAddress, firstPort);
        client = clientOf == null ? null : new StreamClient(tuned, device, clientOf, firstPort,
                spinNanos);
        PrintWriter out = spec.commandLine().getOut();
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                Json.print(out, obey(line.split(" ")));
            }
        }
        if (client != null) {
            client.close();
        }
        if (server != null) {
            server.close();
        }
        return 0;
    }

    private ObjectNode obey(String[] words) throws InterruptedException {
        ObjectNode answer = Json.object();
        switch (words[0]) {
            case "ask" -> client.ask(Integer.parseInt(words[1]));
            case "send" -> client.send();
            case "receive" -> client.receive();
            case "idle" -> client.idle(Integer.parseInt(words[1]));
            case "cycle" -> client.cycle(Integer.parseInt(words[1]));
            case "pace" -> client.pace(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
            case "flood" -> client.flood(FloodKind.valueOf(words[1]));
            case "noise" -> client.flood(null);
            case "hostile" -> client.hostile(HostileKind.valueOf(words[1]));
            case "hostile-peers" -> answer.put("peers", client.hostilePeers());
            case "held" -> held(answer);
            case "calm" -> client.calm();
            case "stop" -> client.stop();
            case "counts" -> counts(answer);
            case "times" -> times(answer);
            case "statistics" -> statistics(answer);
            case "heap" -> answer.put("bytes", liveHeapBytes());
            default -> throw new IllegalArgumentException("unknown word " + words[0]);
        }
        return answer;
    }

    /** Adds the memory and slots in use after a garbage collection to an answer. */
    private static void held(ObjectNode answer) {
        answer.put("heapBytes", liveHeapBytes()).put("processBytes", HeldMemory.processBytes())
                .put("kernelTcpBytes", HeldMemory.kernelTcpBytes())
                .put("slotsInUse", HeldMemory.slotsInUse()).put("slotsShort", HeldMemory.slotsShort());
    }

    private void counts(ObjectNode answer) throws InterruptedException {
        answer.put("nanos", System.nanoTime());
        if (client != null) {
            answer.put("roundTrips", client.counts().roundTrips()).put("received", client.counts().bytes())
                    .put("connections", client.counts().connections()).put("flooded", client.flooded())
                    .put("clientNanos", loopNanos(client.group()))
                    .put("clientAllocated", loopAllocatedBytes(client.group()));
        }
        if (server != null) {
            answer.put("taken", server.counts().bytes()).put("serverNanos", loopNanos(server.group()))
                    .put("serverAllocated", loopAllocatedBytes(server.group())).put("cookies", SynCookies.accepted());
        }
    }

    /** Returns the processor time of the single event loop of a group. */
    private long loopNanos(EventLoopGroup group) throws InterruptedException {
        return threads.getThreadCpuTime(threadOf(group));
    }

    /** Returns the number of Java heap bytes that the single event loop of a group has allocated. */
    private long loopAllocatedBytes(EventLoopGroup group) throws InterruptedException {
        return ((com.sun.management.ThreadMXBean) threads).getThreadAllocatedBytes(threadOf(group));
    }

    private static long threadOf(EventLoopGroup group) throws InterruptedException {
        return group.submit(() -> Thread.currentThread().threadId()).sync().getNow();
    }

    /** Adds the percentiles of the round-trip times since the last call to an answer. */
    private void times(ObjectNode answer) throws InterruptedException {
        Histogram histogram = client.group().submit(() -> {
            Histogram copy = client.counts().roundTripNanos().copy();
            client.counts().roundTripNanos().reset();
            return copy;
        }).sync().getNow();
        answer.put("p50Nanos", histogram.getValueAtPercentile(MEDIAN))
                .put("p99Nanos", histogram.getValueAtPercentile(TAIL))
                .put("p999Nanos", histogram.getValueAtPercentile(FAR_TAIL));
    }

    /** Adds the counters of this transport's event loops to an answer. */
    private static void statistics(ObjectNode answer) {
        for (RdmaRawLoopStatistics loop : RdmaRawMetrics.loops()) {
            for (RdmaRawQueueStatistics queue : loop.queues()) {
                ObjectNode counts = answer.putObject(loop.name());
                queue.metrics().forEach(metric -> counts.put(metric.name(), queue.value(metric)));
                queue.totals("tcp").forEach((metric, value) -> counts.put("channels." + metric.name(), value));
            }
        }
    }

    private static long liveHeapBytes() {
        for (int i = 0; i < GC_ROUNDS; i++) {
            System.gc();
        }
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
