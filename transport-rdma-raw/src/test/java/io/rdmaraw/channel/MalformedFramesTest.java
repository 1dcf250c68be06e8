package io.rdmaraw.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.IoEventLoopGroup;
import io.netty.util.ReferenceCountUtil;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.queue.QueueCounters;
import io.rdmaraw.wire.FrameChecks;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * A host with channels receives a flood of malformed frames. No exception is thrown, no slot is lost, each frame is
 * accounted for, and the host works as before afterwards. The property {@code rdmaraw.malformedFrames} sets the number
 * of frames; CONTRIBUTING.md has the command for ten million.
 */
class MalformedFramesTest {
    private static final int FRAMES = Integer.getInteger("rdmaraw.malformedFrames", 100_000);
    /** Half of the posted receives of the host's queue. */
    private static final int MAX_BATCH = 512;
    /** Batch size in which the receive queue is refilled. */
    private static final int REFILL_BATCH = 32;
    private static final long MAC = 0x02_00_00_0f_00_01L;
    private static final long PEER_MAC = 0x02_00_00_0f_00_02L;
    private static final InetSocketAddress PEER = new InetSocketAddress("10.15.0.2", 2000);

    private final LoopDevice device = new LoopDevice();
    private final AtomicReference<Throwable> thrown = new AtomicReference<>();
    private IoEventLoopGroup host;
    private RdmaRawChannel sender;
    private RdmaRawDatagramChannel bound;
    private RdmaRawDatagramChannel connected;

    @BeforeEach
    void open() throws InterruptedException {
        host = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder().device(device.name)
                .userspaceAddress("02:00:00:0f:00:01", "10.15.0.1/24", "10.15.0.2")
                .userspaceAddress("02:00:00:0f:00:01", "fd15::1/64",
                        null).detectDuplicateAddresses(false).build());
        sender = device.bind(host, device.sendOnly(), new ChannelInboundHandlerAdapter());
        bound = bind();
        connected = bind();
        connected.connect(PEER).sync();
    }

    private RdmaRawDatagramChannel bind() throws InterruptedException {
        return (RdmaRawDatagramChannel) new Bootstrap().group(host).channel(RdmaRawDatagramChannel.class)
                .option(ChannelOption.SO_RCVBUF, 1 << 20).handler(new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object msg) {
                        ReferenceCountUtil.release(msg);
                    }

                    @Override
                    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
                        // A forged ICMP error about the channel's own datagrams is reported, as by Linux.
                        if (!(cause instanceof SocketException)) {
                            thrown.set(cause);
                        }
                    }
                }).bind(0).sync().channel();
    }

    @AfterEach
    void shutDown() {
        host.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /**
     * Sends batches of random size. Each batch starts when the host has processed the previous one. Runs on the host's
     * own loop, because two threads that wait for each other would be limited by the scheduler's time slices.
     */
    private final class Flood implements Runnable {
        private final MalformedFrames frames = new MalformedFrames(FRAMES, MAC, PEER_MAC,
                new IpAddress[] {IpAddress.parse("10.15.0.1"), IpAddress.parse("fd15::1")},
                new IpAddress[] {IpAddress.parse("10.15.0.2"), IpAddress.parse("fd15::2")},
                new int[] {bound.localAddress().getPort(), connected.localAddress().getPort(), PEER.getPort()});
        private final QueueCounters received = bound.deviceQueue().frameQueue().counters();
        private final CompletableFuture<Void> done = new CompletableFuture<>();
        private final SplittableRandom batches = new SplittableRandom(FRAMES);
        private int sent;
        private long emptyPolls;

        @Override
        public void run() {
            try {
                flood();
            } catch (RuntimeException | Error e) {
                // The failure of a scheduled task is not reported, so the test would only end with its timeout.
                done.completeExceptionally(e);
            }
        }

        private void flood() {
            if (sent == FRAMES) {
                done.complete(null);
                return;
            }
            if (received.emptyReceivePolls > emptyPolls + 1) {
                // Some devices return slots later than they loop the frames back.
                int slots = sender.deviceQueue().frameQueue().slots().available();
                int batch = Math.min(1 + batches.nextInt(MAX_BATCH), slots);
                for (int rest = batch; rest > 0 && sent < FRAMES; rest--, sent++) {
                    ByteBuf frame = sender.deviceQueue().frameQueue().slots().acquire();
                    frame.writerIndex(frames.write(frame.memoryAddress()));
                    sender.write(frame, sender.voidPromise());
                }
                emptyPolls = received.emptyReceivePolls;
                sender.flush();
            }
            // Not {@code execute}: tasks added by tasks run in the same turn, so the loop would do nothing else.
            sender.eventLoop().schedule(this, 0, TimeUnit.NANOSECONDS);
        }
    }

    /** Runs a task at the start of the loop's next turn, after a poll. Tasks from outside may run several to a turn. */
    private <T> T onHost(Callable<T> task) {
        EventLoop loop = bound.eventLoop();
        return loop.submit(() -> loop.schedule(task, 0, TimeUnit.NANOSECONDS)).syncUninterruptibly().getNow()
                .syncUninterruptibly().getNow();
    }

    @Test
    void nothingIsThrownLostOrUncounted() throws Exception {
        int freeBefore = awaitFree();
        Flood flood = new Flood();
        sender.eventLoop().execute(flood);
        flood.done.get(Math.max(10, FRAMES / 200_000), TimeUnit.MINUTES);
        int freeAfter = awaitFree();
        assertNull(thrown.get());
        assertTrue(bound.isActive() && connected.isActive() && sender.isActive());
        assertTrue(freeAfter > freeBefore - REFILL_BATCH, "slots were lost: " + freeBefore + " were free before, "
                + freeAfter + " after");

        QueueCounters queue = bound.deviceQueue().frameQueue().counters();
        ParseCounters verdicts = bound.ioHandler().ipContext().parseCounters();
        // Checked in one turn of the loop, because the host itself keeps sending and receiving, for instance for
        // multicast groups.
        onHost(() -> {
            long handedOver = bound.statistics().receivedUnsteered() + connected.statistics().receivedUnsteered();
            assertEquals(queue.receivedFrames - bound.deviceQueue().statistics().undeliveredFrames + handedOver,
                    FrameChecks.parsedFrames(verdicts), "each has one verdict, and what is handed over a second one");
            return null;
        });
        assertTrue(queue.receivedFrames > FRAMES / 2, queue.receivedFrames + " frames came of " + FRAMES);
        assertEquals(0, queue.receiveErrors + queue.sendErrors + queue.recoveries);
        for (ParseVerdict verdict : List.of(ParseVerdict.UDP, ParseVerdict.TCP, ParseVerdict.ICMP, ParseVerdict.ICMPV6,
                ParseVerdict.ARP, ParseVerdict.FRAGMENT, ParseVerdict.UDP_BAD_CHECKSUM, ParseVerdict.IPV4_BAD_CHECKSUM,
                ParseVerdict.IPV4_BAD_OPTION, ParseVerdict.IPV6_BAD_EXTENSION, ParseVerdict.ND_MALFORMED,
                ParseVerdict.ND_BAD_HOP_LIMIT)) {
            assertTrue(verdicts.get(verdict) > 0, () -> "no frame came to " + verdict);
        }
        assertTrue(bound.statistics().receivedDatagrams() > 0 && connected.statistics().receivedDatagrams() > 0);
        answersAsBefore();
    }

    private void answersAsBefore() throws InterruptedException {
        IoEventLoopGroup other = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder().device(device.name)
                .userspaceAddress("02:00:00:0f:00:03", "10.15.0.3/24", null).detectDuplicateAddresses(false).build());
        try {
            long before = bound.statistics().receivedDatagrams();
            DatagramFixture.Inbox client = new DatagramFixture.Inbox();
            client.channel = (RdmaRawDatagramChannel) new Bootstrap().group(other)
                    .channel(RdmaRawDatagramChannel.class).handler(client).bind(0).sync().channel();
            client.send("still there?", DatagramFixture.at("10.15.0.1", bound.localAddress().getPort()));
            long endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
            while (onHost(() -> bound.statistics().receivedDatagrams()) == before && System.nanoTime() - endNanos < 0) {
                onHost(() -> null);
            }
            assertEquals(before + 1, bound.statistics().receivedDatagrams());
        } finally {
            other.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /** Returns the number of free slots of the host when no frame is in flight. */
    private int awaitFree() throws InterruptedException {
        int free = -1;
        int same = 0;
        while (same < 50) {
            int now = onHost(() -> {
                bound.deviceQueue().frameQueue().reclaim();
                return bound.deviceQueue().frameQueue().slots().available()
                        + bound.deviceQueue().frameQueue().inFlight();
            });
            same = now == free ? same + 1 : 0;
            free = now;
        }
        return free;
    }
}
