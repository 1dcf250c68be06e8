package io.rdmaraw.microbench.server;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.microbench.process.CompilerTime;
import io.rdmaraw.microbench.process.CpuTimes;
import io.rdmaraw.tools.output.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * The client of {@link PolledHttp}: one request at a time on each connection, on a loop of ours that does not sleep
 * while it waits for an answer, so that no time of its waking up is in what it measures. Each line of its input
 * is a number of connections and one of seconds, and is answered by one line of JSON. It ends with its input.
 */
@Command(name = "http-polled", hidden = true, description = "The client of bench http --polled.")
public final class PolledHttpCommand implements Callable<Integer> {
    private static final double TAIL = 99;
    private static final double FAR_TAIL = 99.9;
    private static final double MEDIAN = 50;
    /** Fewer than a listener's backlog has room for. */
    private static final int AT_ONCE = 100;
    /**
     * Far longer than a round trip takes. The clients of all servers have one core: those that have nothing to do stop
     * spinning after a few of these.
     */
    private static final long SPIN_MILLIS = 5;
    /** The share of a measurement before which requests do not count, as connections are new. */
    private static final double SETTLE_SHARE = 0.2;

    @Option(names = "--device", required = true)
    private String device;

    @Option(names = "--address", required = true)
    private String address;

    @Option(names = "--port", required = true)
    private int port;

    @Option(names = "--path", required = true)
    private String path;

    @Option(names = "--server-core", required = true, description = "the core whose time is told")
    private int serverCore;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException {
        EventLoopGroup group = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder().ipDevice(device)
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
        PolledRequests requests = new PolledRequests(request());
        List<Channel> channels = connect(group, requests, connections);
        group.submit(() -> channels.forEach(requests::begin)).sync();
        sleep(SETTLE_SHARE * seconds);
        long self = ProcessHandle.current().pid();
        double compiledBefore = CompilerTime.seconds(self);
        CpuTimes before = CpuTimes.read(serverCore);
        long began = group.submit(requests::startMeasuring).sync().getNow();
        sleep(seconds);
        PolledRequests.Result result = group.submit(requests::result).sync().getNow();
        double serverSeconds = CpuTimes.read(serverCore).since(before).serverSeconds();
        double compiledSeconds = CompilerTime.seconds(self) - compiledBefore;
        for (Channel channel : channels) {
            channel.close().sync();
        }
        Histogram nanos = result.nanos();
        return Json.object().put("answered", nanos.getTotalCount()).put("wrong", result.wrong())
                .put("nanos", result.atNanos() - began).put("serverSeconds", serverSeconds)
                .put("compiledSeconds", compiledSeconds)
                .put("p50Nanos", nanos.getValueAtPercentile(MEDIAN))
                .put("p99Nanos", nanos.getValueAtPercentile(TAIL))
                .put("p999Nanos", nanos.getValueAtPercentile(FAR_TAIL));
    }

    private ByteBuf request() {
        return Unpooled.unreleasableBuffer(Unpooled.directBuffer().writeBytes(("GET " + path + " HTTP/1.1\r\nHost: "
                + address + ':' + port + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII)));
    }

    private List<Channel> connect(EventLoopGroup group, PolledRequests requests, int connections)
            throws InterruptedException {
        Bootstrap bootstrap = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                .option(ChannelOption.TCP_NODELAY, true).option(ChannelOption.SO_LINGER, 0)
                .handler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(requests.newHandler());
                    }
                });
        List<Channel> channels = new ArrayList<>();
        List<ChannelFuture> connecting = new ArrayList<>();
        for (int i = 0; i < connections; i++) {
            connecting.add(bootstrap.connect(new InetSocketAddress(address, port)));
            if (connecting.size() == AT_ONCE || i == connections - 1) {
                for (ChannelFuture each : connecting) {
                    channels.add(each.sync().channel());
                }
                connecting.clear();
            }
        }
        return channels;
    }

    private static void sleep(double howLongSeconds) throws InterruptedException {
        TimeUnit.MICROSECONDS.sleep(Math.round(howLongSeconds * 1e6));
    }
}
