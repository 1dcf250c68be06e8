package io.rdmaraw.microbench.server;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.microbench.process.CompilerTime;
import io.rdmaraw.microbench.process.CpuTimes;
import io.rdmaraw.tools.output.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * The process of {@link PolledLoad}. It has one outstanding request on each connection. Its event loop runs on this
 * transport and does not sleep while it waits for an answer, so the latency does not include wake-ups.
 *
 * <p>Each line of the input contains a number of connections and a duration in seconds. The process measures and
 * answers with one line of JSON. It ends when its input ends.
 */
@Command(name = "polled-client", hidden = true, description = "The client of benches with --polled.")
public final class PolledClientCommand implements Callable<Integer> {
    private static final double TAIL = 99;
    private static final double FAR_TAIL = 99.9;
    private static final double MEDIAN = 50;
    /**
     * Time for which the client spins before it sleeps. It is far longer than a round trip. The clients of all servers
     * share a core, so an idle client must stop spinning after a few of these periods.
     */
    private static final long SPIN_MILLIS = 5;
    /**
     * Duration of the settle time as a share of the measurement. Requests do not count during it, because the
     * connections are new.
     */
    private static final double SETTLE_SHARE = 0.2;

    @Option(names = "--device", required = true)
    private String device;

    @Option(names = "--address", required = true)
    private String address;

    @Option(names = "--port", required = true)
    private int port;

    @Option(names = "--kind", required = true, converter = RequestKind.Names.class,
            completionCandidates = RequestKind.Names.class)
    private RequestKind kind;

    @Option(names = "--server-core", required = true, description = "the core whose time is reported")
    private int serverCore;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException {
        EventLoopGroup group = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder().device(device)
                .spin(SPIN_MILLIS, TimeUnit.MILLISECONDS).build());
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ");
                Json.print(spec.commandLine().getOut(), measure(group, Integer.parseInt(words[0]),
                        Double.parseDouble(words[1])));
            }
        } finally {
            group.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
        }
        return 0;
    }

    private ObjectNode measure(EventLoopGroup group, int connections, double seconds) throws InterruptedException {
        PolledClient client = kind.newClient(address, port);
        client.open(group, new InetSocketAddress(address, port), connections);
        sleep(SETTLE_SHARE * seconds);
        long self = ProcessHandle.current().pid();
        double compiledBefore = CompilerTime.seconds(self);
        CpuTimes before = CpuTimes.read(serverCore);
        long began = group.submit(client::startMeasuring).sync().getNow();
        sleep(seconds);
        PolledClient.Result result = group.submit(client::result).sync().getNow();
        double serverSeconds = CpuTimes.read(serverCore).since(before).serverSeconds();
        double compiledSeconds = CompilerTime.seconds(self) - compiledBefore;
        client.close();
        Histogram nanos = result.nanos();
        return Json.object().put("answered", nanos.getTotalCount()).put("wrong", result.wrong())
                .put("nanos", result.atNanos() - began).put("serverSeconds", serverSeconds)
                .put("compiledSeconds", compiledSeconds)
                .put("p50Nanos", nanos.getValueAtPercentile(MEDIAN))
                .put("p99Nanos", nanos.getValueAtPercentile(TAIL))
                .put("p999Nanos", nanos.getValueAtPercentile(FAR_TAIL));
    }

    private static void sleep(double howLongSeconds) throws InterruptedException {
        TimeUnit.MICROSECONDS.sleep(Math.round(howLongSeconds * 1e6));
    }
}
