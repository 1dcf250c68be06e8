package io.rdmaraw.testsuite.netlink;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.metrics.RdmaRawLoopStatistics;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * The monitor follows the host although the kernel's neighbour table changes faster than notifications can be read, for
 * example because an attacker floods the link with addresses.
 */
@Timeout(180)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class NotificationFloodTest {
    /**
     * Enough entries to make a snapshot expensive. They are permanent, because the table's size limit ignores permanent
     * entries.
     */
    private static final int NEIGHBORS = 20_000;
    private static final int CHANGES_MEANWHILE = 3;
    /**
     * Divisor of the elapsed time that limits the monitor's CPU time. Snapshots may take a tenth of the time.
     * Solicitations and wake-ups add to it.
     */
    private static final int MAX_CPU_SHARE_DIVISOR = 4;
    private static final long ALLOWANCE_NANOS = 500_000_000L;

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final Set<Long> threadsBefore = new HashSet<>();
    private NetworkNamespace host;
    private VethPair pair;
    private RdmaRawEventLoopGroup group;

    @BeforeEach
    void open(TestNetwork network) throws InterruptedException {
        routeThreads().forEach(threadsBefore::add);
        host = network.namespace();
        pair = network.withoutCapture().vethPair(host, network.namespace());
        group = new RdmaRawEventLoopGroup(1, host.threadFactory(),
                RdmaRawIoHandlerConfig.builder().device("soft:xdp:" + pair.ours().name()).build());
        bind(pair.ours().ipv4()).sync().channel().close().sync();
    }

    @AfterEach
    void close() {
        group.shutdownGracefully().syncUninterruptibly();
    }

    private ChannelFuture bind(String address) throws InterruptedException {
        return new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new ChannelInboundHandlerAdapter())
                .bind(new InetSocketAddress(InetAddress.ofLiteral(address), 0)).await();
    }

    private static long lostNotifications() {
        return RdmaRawMetrics.loops().stream().mapToLong(NotificationFloodTest::lostNotifications).sum();
    }

    private static long lostNotifications(RdmaRawLoopStatistics loop) {
        return loop.value(loop.metrics().stream().filter(metric -> metric.name().equals("notifications-lost"))
                .findFirst().orElseThrow());
    }

    private static List<Long> routeThreads() {
        return Thread.getAllStackTraces().keySet().stream().filter(thread -> thread.getName().equals("rdma-raw-route"))
                .map(Thread::threadId).toList();
    }

    /** Starts a program that adds and removes the neighbours until it is stopped. */
    private PeerProcess flood(Path directory) throws IOException {
        StringBuilder come = new StringBuilder();
        StringBuilder go = new StringBuilder();
        for (int i = 0; i < NEIGHBORS; i++) {
            String neighbor = "10.77." + (i >> 8) + '.' + (i & 0xff) + " dev " + pair.ours().name();
            come.append("neigh replace ").append(neighbor).append(" lladdr 02:00:00:00:").append(
                    String.format("%02x:%02x", i >> 8, i & 0xff)).append(" nud permanent\n");
            go.append("neigh del ").append(neighbor).append('\n');
        }
        Path comes = Files.writeString(directory.resolve("come"), come);
        Path goes = Files.writeString(directory.resolve("go"), go);
        return host.start("sh", "-c", "while ip -force -batch " + comes + " && ip -force -batch " + goes
                + "; do :; done");
    }

    @Test
    void theHostIsFollowedThroughItAndAfter(@TempDir Path directory) throws Exception {
        List<Long> following = routeThreads().stream().filter(id -> !threadsBefore.contains(id)).toList();
        assertEquals(1, following.size(), "threads that follow this namespace");
        long cpuBefore = threads.getThreadCpuTime(following.getFirst());
        long lostBefore = lostNotifications();
        long begin = System.nanoTime();
        try (PeerProcess flood = flood(directory)) {
            Await.until("notifications to be lost", () -> lostNotifications() > lostBefore);
            for (int change = 1; change <= CHANGES_MEANWHILE; change++) {
                long lost = lostNotifications();
                assertFollowed("10.88." + change + ".1");
                Await.until("more to be lost", () -> lostNotifications() > lost);
                assertTrue(flood.isAlive(), flood.output());
            }
        }
        long cpuNanos = threads.getThreadCpuTime(following.getFirst()) - cpuBefore;
        long tookNanos = System.nanoTime() - begin;
        assertTrue(cpuNanos >= 0, "the thread that follows the host has ended");
        assertTrue(cpuNanos < tookNanos / MAX_CPU_SHARE_DIVISOR + ALLOWANCE_NANOS, "following took " + cpuNanos
                + " ns of a processor in " + tookNanos);
        assertFollowed("10.88.99.1");
    }

    /** Adds and removes an address and waits until the monitor has seen both changes. */
    private void assertFollowed(String address) {
        host.run("ip", "address", "add", address + "/24", "dev", pair.ours().name());
        Await.until("the host to have " + address, () -> isBound(address));
        host.run("ip", "address", "del", address + "/24", "dev", pair.ours().name());
        Await.until("the host to have " + address + " no more", () -> !isBound(address));
    }

    private boolean isBound(String address) {
        try {
            ChannelFuture bound = bind(address);
            if (bound.isSuccess()) {
                Channel channel = bound.channel();
                channel.close().sync();
            } else {
                assertInstanceOf(BindException.class, bound.cause());
            }
            return bound.isSuccess();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
