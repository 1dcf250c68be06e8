package io.rdmaraw.tools.demo.sockets;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.util.internal.StringUtil;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.metrics.RdmaRawTcpInfo;
import io.rdmaraw.tools.run.Loops;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.IntFunction;

/** The client of the demo. Runs its checks one after the other. */
final class EchoClient implements AutoCloseable {
    /** With four sockets for each of eight loops, the hash would leave a loop without any in 11 % of the checks. */
    private static final int SOCKETS_PER_LOOP = 16;
    private static final int MIN_SOCKETS = 32;
    private static final int BYTES = 64 << 10;
    private static final int BULK_BYTES = 8 << 20;
    /** The own MTU of an interface may be longer; then no datagram but the last is fragmented. */
    private static final int MTU_BYTES = 1500;
    private static final int FRAGMENTED_BYTES = 12_000;
    /** A quarter of the segments of a transfer may be lost. Short transfers are not judged. */
    private static final int MAX_RETRANSMITTED_SHARE_DIVISOR = 4;
    private static final int MIN_BULK_SEGMENTS = 1_000;
    private static final long PATIENCE_SECONDS = 30;

    private final Loops loops;
    private final int serverLoops;
    private final int sockets;
    private final List<CheckResult> results = new ArrayList<>();

    EchoClient(String device, int serverLoops) {
        loops = new Loops(1, DemoHost.CLIENT.config(device));
        this.serverLoops = serverLoops;
        sockets = socketsFor(serverLoops);
    }

    static int socketsFor(int serverLoops) {
        return Math.max(MIN_SOCKETS, SOCKETS_PER_LOOP * serverLoops);
    }

    List<CheckResult> run() throws InterruptedException {
        for (Family family : Family.values()) {
            // TCP first: it repeats what is lost until the hosts have claimed their addresses.
            InetSocketAddress server = DemoHost.SERVER.at(family);
            int longest = family.maxDatagramBytes(MTU_BYTES);
            check("tcp", family, sockets, sender -> connect(new StreamCheck(sender, BYTES), server));
            check("tcp-bulk", family, 1, sender -> connect(new StreamCheck(sender, BULK_BYTES), server));
            // Fragments of more sockets at a time might exceed the receive queues.
            check("udp", family, sockets, sender -> bind(new DatagramCheck(sender, server, 1, 18, 512, longest - 1,
                    longest, sender < MIN_SOCKETS ? FRAGMENTED_BYTES : longest), family));
        }
        return results;
    }

    /** A socket that runs its check. */
    record Socket(EchoCheck check, ChannelFuture opened) {
    }

    private Socket bind(DatagramCheck check, Family family) {
        String wildcard = family == Family.IPV4 ? "0.0.0.0" : "::";
        return new Socket(check, new Bootstrap().group(loops.group()).channel(RdmaRawDatagramChannel.class)
                .handler(check).bind(new InetSocketAddress(InetAddress.ofLiteral(wildcard), 0)));
    }

    private Socket connect(StreamCheck check, InetSocketAddress server) {
        return new Socket(check, new Bootstrap().group(loops.group()).channel(RdmaRawSocketChannel.class)
                .handler(check).connect(server));
    }

    private void check(String name, Family family, int count, IntFunction<Socket> opener)
            throws InterruptedException {
        long begin = System.nanoTime();
        List<Socket> opened = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            opened.add(opener.apply(i));
        }
        Set<Integer> served = new TreeSet<>();
        String failure = "";
        for (Socket socket : opened) {
            String reason = failureOf(socket, begin, served);
            failure = failure.isEmpty() ? reason : failure;
        }
        for (Socket socket : opened) {
            Channel channel = socket.opened().channel();
            if (failure.isEmpty() && channel instanceof RdmaRawSocketChannel stream) {
                failure = failureOf(stream.tcpInfo().sync().getNow());
            }
            channel.close().sync();
        }
        if (failure.isEmpty() && count == sockets && served.size() < serverLoops) {
            failure = "only the loops " + served + " of " + serverLoops + " were chosen by the device";
        }
        results.add(new CheckResult(name, family, count, served.size(), failure, System.nanoTime() - begin));
    }

    /** Waits for a socket. Returns the reason of its failure, or an empty string. */
    static String failureOf(Socket socket, long begin, Set<Integer> served) throws InterruptedException {
        try {
            socket.opened().addListener(future -> {
                if (!future.isSuccess()) {
                    socket.check().servingLoop().completeExceptionally(future.cause());
                }
            });
            long left = TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS) - (System.nanoTime() - begin);
            served.add(socket.check().servingLoop().get(left, TimeUnit.NANOSECONDS));
            return "";
        } catch (ExecutionException e) {
            String message = e.getCause().getMessage();
            return StringUtil.isNullOrEmpty(message) ? e.getCause().toString() : message;
        } catch (TimeoutException e) {
            return "no answer after " + socket.check().progress();
        }
    }

    /** TCP replaces what a wrong card sends, so that each byte comes back. It then retransmits most segments. */
    static String failureOf(RdmaRawTcpInfo info) {
        boolean isBulk = info.segmentsOut() >= MIN_BULK_SEGMENTS;
        return isBulk && info.retransmittedSegments() > info.segmentsOut() / MAX_RETRANSMITTED_SHARE_DIVISOR
                ? info.retransmittedSegments() + " of " + info.segmentsOut() + " segments were retransmitted" : "";
    }

    @Override
    public void close() {
        loops.close();
    }
}
