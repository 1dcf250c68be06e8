package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.FrameReceiver;
import io.rdmaraw.faults.SoftverbsFaults;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.QueueFixture;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.wire.Toeplitz;
import io.rdmaraw.wire.UdpHeader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * RSS rules, shared by several loops: each frame arrives once, at the loop selected by the hash of its addresses and
 * ports.
 */
class RssFlowsTest {
    /** Odd, so that different flows have different ports. */
    private static final int SCATTER = 40503;
    private static final long MAC = 0x02_00_00_00_00_aaL;
    private static final int PORT = 4321;
    private static final int CLIENT = 0x0a000001;
    private static final int SERVER = 0x0a000002;

    private final LoopDevice device = new LoopDevice();
    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(5,
            RdmaRawIoHandlerConfig.builder().receiveQueueDepth(256).slotCount(1024).build());
    private final FlowSpec spec = udp().ipv4().udp().destinationPort(PORT).build();
    private final List<Member> members = new ArrayList<>();
    private SharedDevice shared;
    private RdmaRawChannel sender;

    @BeforeEach
    void open() {
        shared = SharedDevice.acquire(device.name);
        sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
    }

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        shared.release();
    }

    private static io.rdmaraw.verbs.flow.FlowSpecBuilder udp() {
        return FlowSpec.builder().destinationMac(MAC, EthernetHeader.BROADCAST);
    }

    /** Member of an RSS rule on one loop. Records the client ports of the frames it receives. */
    private static final class Member implements FrameReceiver {
        final RdmaRawChannel channel;
        final DeviceQueue port;
        final BlockingQueue<Integer> clientPorts = new LinkedBlockingQueue<>();

        Member(RdmaRawChannel channel) {
            this.channel = channel;
            port = channel.deviceQueue();
        }

        <T> T onLoop(java.util.concurrent.Callable<T> task) {
            EventLoop loop = channel.eventLoop();
            return StreamFixture.on(loop, task);
        }

        void attach(FlowSpec spec) {
            onLoop(() -> {
                port.attach(this, List.of(), List.of(spec));
                return null;
            });
        }

        void detach() {
            onLoop(() -> {
                port.detach(this);
                return null;
            });
        }

        @Override
        public boolean receive(ByteBuf frame, boolean checksumVerified) {
            int ip = frame.getUnsignedShort(12) == EtherType.IPV4 ? Ipv4Header.MIN_LENGTH_BYTES
                    : Ipv6Header.LENGTH_BYTES;
            clientPorts.add(frame.getUnsignedShort(EthernetHeader.LENGTH_BYTES + ip));
            frame.release();
            return false;
        }

        @Override
        public void endBurst() {
        }

        @Override
        public void onSendRoom() {
        }

        int bindPort() throws InterruptedException {
            return FrameQueueHandler.take(clientPorts, "frame");
        }
    }

    private Member join() {
        Member member = new Member(device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter()));
        member.attach(spec);
        members.add(member);
        return member;
    }

    private static ByteBuf frameFrom(int clientPort) {
        ByteBuf frame = Unpooled.directBuffer(64).writeZero(64);
        long address = BufferAddress.of(frame);
        EthernetHeader.write(address, MAC, 0x02_00_00_00_00_bbL, EtherType.IPV4);
        long ip = address + EthernetHeader.LENGTH_BYTES;
        Ipv4Header.write(ip, 0, 50, 0, 0, 64, IpProtocol.UDP, CLIENT, SERVER);
        UdpHeader.write(ip + Ipv4Header.MIN_LENGTH_BYTES, clientPort, PORT, 30);
        return frame;
    }

    /**
     * Sends one frame for each of a number of client ports. The ports are scattered because the hash is linear with a
     * random key: consecutive ports may have hashes that differ only in bits that a small table ignores.
     */
    private void send(int firstFlow, int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            sender.write(frameFrom((firstFlow + i) * SCATTER & 0xffff));
        }
        sender.flush();
        sender.eventLoop().submit(() -> { }).sync();
    }

    private int received() {
        return members.stream().mapToInt(member -> member.clientPorts.size()).sum();
    }

    private void awaitReceived(int count) throws InterruptedException {
        long endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (received() < count && System.nanoTime() - endNanos < 0) {
            for (Member member : members) {
                member.onLoop(() -> null);
            }
        }
        assertEquals(count, received());
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4})
    void eachFrameArrivesAtTheLoopThatTheHashChooses(int loops) throws InterruptedException {
        for (int i = 0; i < loops; i++) {
            join();
        }
        send(1000, 200);
        awaitReceived(200);
        Toeplitz hash = Toeplitz.standard(shared.rssFlows().toeplitzKey());
        int tableEntries = Integer.bitCount(loops) == 1 ? loops : 128;
        for (int i = 0; i < loops; i++) {
            assertTrue(members.get(i).clientPorts.size() > 200 / loops / 3, "an uneven share of 200 flows");
            for (int clientPort : members.get(i).clientPorts) {
                int entry = hash.ipv4(CLIENT, SERVER, clientPort, PORT) & tableEntries - 1;
                assertEquals(i, entry % loops);
            }
        }
    }

    @Test
    @Tag("softverbs")
    void aSingleLoopGetsEverything() throws InterruptedException {
        Member only = join();
        send(1000, 20);
        awaitReceived(20);
        assertEquals(0, SoftverbsFaults.of(shared.context()).received(only.port.frameQueue().workQueue()).frames(),
                "by its queue pair, not by way of a table");
    }

    @Test
    void ruleThatReturnsOnAnotherLoopCountsAsMoved() {
        Member first = join();
        assertFalse(shared.rssFlows().haveFlowsMoved(), "nothing has moved yet");
        first.detach();
        assertFalse(shared.rssFlows().haveFlowsMoved(), "no frame comes by it for now");
        join();
        assertTrue(shared.rssFlows().haveFlowsMovedWithin(TimeUnit.MINUTES.toNanos(1)),
                "what was the first one's comes to another one from now on");
    }

    @Test
    void loopsComeAndGoWithoutLossWhileFramesArrive() throws InterruptedException {
        join();
        int sent = 0;
        for (int round = 0; round < 20; round++) {
            send(1000 + sent, 10);
            sent += 10;
            Member second = join();
            send(1000 + sent, 10);
            sent += 10;
            Member third = join();
            send(1000 + sent, 10);
            sent += 10;
            awaitReceived(sent);
            second.detach();
            send(1000 + sent, 10);
            sent += 10;
            awaitReceived(sent);
            third.detach();
        }
        send(1000 + sent, 10);
        awaitReceived(sent + 10);
        assertEquals(sent + 10, members.stream().flatMap(member -> member.clientPorts.stream()).distinct().count(),
                "no frame came twice");
    }

    @Test
    void afterTheLastLoopHasLeftThePortIsFree() throws InterruptedException {
        Member first = join();
        Member second = join();
        first.detach();
        second.detach();
        Member again = join();
        send(1000, 5);
        awaitReceived(5);
        assertEquals(5, again.clientPorts.size());
    }

    @Test
    void channelsOfOneLoopShareItsFlows() throws InterruptedException {
        Member first = join();
        Member second = new Member(first.channel);
        second.attach(spec);
        members.add(second);
        for (int i = 0; i < 3; i++) {
            send(1000, 64);
        }
        awaitReceived(3 * 64);
        for (Member member : members) {
            assertTrue(member.clientPorts.size() > 30, "half of the flows each");
            assertEquals(0, member.clientPorts.size() % 3, "a flow stays with its channel");
        }
    }

    /** A work queue in error state is recovered in the same way as a queue pair. */
    @Test
    void aFailedWorkQueueIsRecovered() throws InterruptedException {
        Member first = join();
        Member second = join();
        first.onLoop(() -> {
            first.port.frameQueue().workQueue().toError();
            return null;
        });
        send(1000, 64);
        second.bindPort();
        while (first.port.frameQueue().counters().recoveries == 0) {
            first.onLoop(() -> null);
        }
        // The counter is incremented before the queue can receive again, in the same turn.
        first.onLoop(() -> null);
        send(1000, 64);
        first.bindPort();
        assertEquals(1, first.port.frameQueue().counters().recoveries);
    }

    /** The recovery creates new queues, so the loop leaves the rule and joins it again. */
    @Test
    void loopKeepsItsShareAfterLosingCompletions() throws InterruptedException {
        Member first = join();
        join();
        DeviceFaults faults = DeviceFaults.of(shared.context());
        for (int round = 1; round <= 3; round++) {
            faults.overrunCompletions(first.port.frameQueue(), true);
            while (first.port.frameQueue().counters().recoveries < round) {
                first.onLoop(() -> null);
            }
            // The counter is incremented before the loop has joined again, in the same turn.
            first.onLoop(() -> null);
            members.forEach(member -> member.clientPorts.clear());
            send(1000, 100);
            awaitReceived(100);
            for (Member member : members) {
                assertTrue(member.clientPorts.size() > 100 / 2 / 3, "an uneven share of 100 flows in round " + round
                        + ": " + member.clientPorts.size());
            }
        }
    }

    /** The kernel is temporarily out of memory. The loop tries to join the rule until it succeeds. */
    @Test
    @Tag("emulated")
    void ruleRefusedAfterRecoveryIsJoinedLater() throws InterruptedException {
        Member first = join();
        join();
        EmulatedFaults faults = new EmulatedFaults(shared.context().deviceName());
        first.onLoop(() -> {
            faults.failCommands(RandomFaults.CREATE_FLOW, Errno.ENOMEM, 5);
            faults.overrunCompletions(first.port.frameQueue(), true);
            return null;
        });
        awaitShares(first);
        faults.failNoCommands();
    }

    /** The kernel is temporarily out of memory while a loop leaves the rule. */
    @Test
    @Tag("emulated")
    void remainingLoopKeepsRuleRefusedAtFirst() throws InterruptedException {
        Member leaving = join();
        join();
        EmulatedFaults faults = new EmulatedFaults(shared.context().deviceName());
        faults.failCommands(RandomFaults.CREATE_FLOW, Errno.ENOMEM, 2);
        leaving.detach();
        faults.failNoCommands();
        members.remove(leaving);
        send(1000, 40);
        awaitReceived(40);
    }

    /** If the device has no room for the new rule, the loop keeps its part, unlike a loop that terminates. */
    @Test
    void loopKeepsRuleIfDeviceIsFull() throws InterruptedException {
        assumeTrue(new DeviceName(device.name).isSoftware(), "the faults of softverbs");
        Member leaving = join();
        join();
        SoftverbsFaults faults = SoftverbsFaults.of(shared.context());
        faults.setFlowCapacity(1);
        assertFalse(leaving.<Boolean>onLoop(() -> leaving.port.withdrawFromRss(leaving)));
        send(1000, 40);
        awaitReceived(40);
        assertFalse(leaving.clientPorts.isEmpty());
        faults.setFlowCapacity(-1);
        leaving.clientPorts.clear();
        assertTrue(leaving.<Boolean>onLoop(() -> leaving.port.withdrawFromRss(leaving)));
        send(2000, 40);
        Patience.until(() -> members.getLast().clientPorts.size() >= 40, "the other loop to have all of them");
        assertTrue(leaving.clientPorts.isEmpty());
    }

    /**
     * The loop that opens an RSS rule is usually not the recovered one, and must not create the queue's work queue from
     * its thread.
     */
    @Test
    void replacedQueueHasItsWorkQueue() {
        Member first = join();
        first.detach();
        FrameQueue queue = first.port.frameQueue();
        DeviceFaults.of(shared.context()).overrunCompletions(queue, true);
        while (queue.counters().recoveries == 0) {
            first.onLoop(() -> null);
        }
        assertTrue(first.onLoop(() -> QueueFixture.isStriding(queue) || QueueFixture.hasWorkQueue(queue)),
                "another loop's thread would make it");
    }

    /** The queue fails after the server has been bound and before the loop has joined the rule. */
    @Test
    void ruleNotYetJoinedSurvivesQueueFailure() throws InterruptedException {
        Member first = join();
        Member second = join();
        first.detach();
        second.detach();
        first.onLoop(() -> first.port.frameQueue().workQueue());
        second.onLoop(() -> second.port.frameQueue().workQueue());
        shared.rssFlows().open(spec, List.of(first.port.frameQueue(), second.port.frameQueue()), this);
        second.attach(spec);
        FrameQueue queue = first.port.frameQueue();
        DeviceFaults.of(shared.context()).overrunCompletions(queue, true);
        while (queue.counters().recoveries == 0) {
            first.onLoop(() -> null);
        }
        first.onLoop(() -> null);
        first.attach(spec);
        send(1000, 100);
        awaitReceived(100);
    }

    /** Waits until all members receive frames. */
    private void awaitShares(Member recovered) throws InterruptedException {
        long endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (recovered.port.frameQueue().counters().recoveries == 0 && System.nanoTime() - endNanos < 0) {
            recovered.onLoop(() -> null);
        }
        while (members.stream().anyMatch(member -> member.clientPorts.isEmpty()) && System.nanoTime() - endNanos < 0) {
            send(1000, 40);
        }
        for (Member member : members) {
            assertFalse(member.clientPorts.isEmpty(), "a loop gets nothing by the rule");
        }
    }

    @Test
    void aClosedLoopLeavesTheOthersTheirShares() throws InterruptedException {
        join();
        Member leaving = join();
        join();
        leaving.channel.eventLoop().shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        members.remove(leaving);
        send(1000, 100);
        awaitReceived(100);
    }

    @Test
    void ruleWithoutIpVersionIsRefused() {
        Member member = new Member(sender);
        FlowSpec noIp = FlowSpec.builder().destinationMac(MAC, EthernetHeader.BROADCAST).etherType(0x88b5).build();
        IllegalArgumentException refusal = assertThrows(IllegalArgumentException.class, () -> member.attach(noIp));
        assertTrue(refusal.getMessage().contains("version of IP"), refusal.getMessage());
    }

    @Test
    void tooFewSlotsAreRefused() {
        RdmaRawEventLoopGroup small = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder()
                .receiveQueueDepth(256).slotCount(512).build());
        try {
            Member member = new Member(device.bind(small, device.sendOnly(), new ChannelInboundHandlerAdapter()));
            if (QueueFixture.isStriding(member.channel.deviceQueue().frameQueue())) {
                // A striding queue serves both the loop's own rules and RSS rules, so it needs no second queue.
                member.attach(spec);
                return;
            }
            IllegalStateException refusal = assertThrows(IllegalStateException.class, () -> member.attach(spec));
            assertTrue(refusal.getMessage().contains("slotCount"), refusal.getMessage());
        } finally {
            small.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }
}
