package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.rdmaraw.host.HostView;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.route.ControlOutput;
import io.rdmaraw.route.IcmpError;
import io.rdmaraw.route.IpAddress;
import io.rdmaraw.route.OwnAddress;
import io.rdmaraw.route.OwnHost;
import io.rdmaraw.route.OwnHostConfig;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.UdpHeader;
import org.junit.jupiter.api.Test;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.Executor;

/** What a host of our own hands to ports on other loops. */
class OwnHostReceiverTest {
    private static final long MAC = 0x02_00_00_0f_00_01L;
    private static final long PEER_MAC = 0x02_00_00_0f_00_02L;
    private static final int FRAME_BYTES = 60;
    private static final int SENT = 3 * HandOverLimit.MAX_FRAMES;

    private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
    private final Queue<Runnable> tasks = new ArrayDeque<>();
    private final RdmaRawDatagramStatistics fragments = new RdmaRawDatagramStatistics();
    private final OwnHostStatistics statistics = new OwnHostStatistics(() -> null, fragments);
    private int taken;

    private final PortOwner port = new PortOwner() {
        @Override
        public Executor loop() {
            return tasks::add;
        }

        @Override
        public void receiveUnsteered(ByteBuf frame, boolean checksumVerified) {
            taken++;
            frame.release();
        }

        @Override
        public void receiveReassembled(ByteBuf packet, IpAddress source, IpAddress destination) {
            throw new AssertionError("there are no fragments");
        }

        @Override
        public void icmpError(IcmpError error) {
            throw new AssertionError("there are no errors");
        }
    };
    private final OwnHostReceiver receiver = new OwnHostReceiver(new OwnHost(new OwnHostConfig(MAC,
            List.of(OwnAddress.parse("10.15.0.1/24")), List.of(), false), "own0", 1500, new Mute(), new Random(1)),
            (protocol, source, sourcePort, destination, destinationPort) -> port, new HostView(Runnable::run, 128),
            new DatagramFragments(allocator, fragments), statistics);

    private ByteBuf datagram() {
        ByteBuf frame = allocator.directBuffer(FRAME_BYTES).writeZero(FRAME_BYTES);
        long address = frame.memoryAddress();
        EthernetHeader.write(address, MAC, PEER_MAC, EtherType.IPV4);
        Ipv4Header.write(address + 14, 0, FRAME_BYTES - 14, 1, 0, 64, IpProtocol.UDP, 0x0a0f_0002, 0x0a0f_0001);
        UdpHeader.write(address + 34, 2000, 53, FRAME_BYTES - 34);
        return frame;
    }

    @Test
    void aLoopThatIsBehindGetsNoMoreThanItCanHold() {
        for (int i = 0; i < SENT; i++) {
            receiver.receive(datagram(), false, 1);
        }
        assertEquals(HandOverLimit.MAX_FRAMES, tasks.size());
        assertTrue(allocator.metric().usedDirectMemory() <= (long) HandOverLimit.MAX_FRAMES * FRAME_BYTES);
        while (!tasks.isEmpty()) {
            tasks.remove().run();
        }
        assertEquals(HandOverLimit.MAX_FRAMES, taken);
        assertEquals(SENT, taken + value("owner-behind"), "the others are counted");
        receiver.receive(datagram(), false, 1);
        assertEquals(1, tasks.size(), "it gets frames again");
        tasks.remove().run();
        receiver.close();
        assertEquals(0, allocator.metric().usedDirectMemory());
    }

    private long value(String name) {
        return statistics.value(statistics.metrics().stream().filter(metric -> metric.name().equals(name)).findFirst()
                .orElseThrow());
    }

    private static final class Mute implements ControlOutput {
        @Override
        public long allocate() {
            return 0;
        }

        @Override
        public void send(int lengthBytes) {
            throw new AssertionError("nothing was allocated");
        }
    }
}
