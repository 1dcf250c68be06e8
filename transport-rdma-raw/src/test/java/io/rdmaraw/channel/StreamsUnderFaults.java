package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.EventLoop;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.SharedDevice;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Connections between two userspace hosts that carry data while their queues fail. */
final class StreamsUnderFaults implements AutoCloseable {
    private static final int CONNECTIONS = 3;
    private static final int SERVER_LOOPS = 2;
    private static final int BYTES_PER_ROUND = 1 << 16;

    private final SharedDevice shared;
    private final EmulatedFaults faults;
    private final Random random;
    private final boolean linkGoes;
    private final StreamFixture fixture;
    private final List<Talker> talkers = new ArrayList<>();
    private final List<RdmaRawSocketChannel> channels = new ArrayList<>();
    private final Map<DeviceQueue, EventLoop> loops = new LinkedHashMap<>();

    StreamsUnderFaults(LoopDevice device, Random random) throws InterruptedException {
        this.random = random;
        linkGoes = random.nextInt(8) == 0;
        shared = SharedDevice.acquire(device.name);
        faults = new EmulatedFaults(shared.context().deviceName());
        fixture = new StreamFixture(config(device, "02:00:00:0d:00:01", "10.13.0.1/24"), SERVER_LOOPS,
                config(device, "02:00:00:0d:00:02", "10.13.0.2/24"), 1);
        InetSocketAddress server = fixture.listen("10.13.0.1", new StreamFixture.Echo(), settings -> { });
        for (int i = 0; i < CONNECTIONS; i++) {
            talkers.add(new Talker(random.nextLong(), BYTES_PER_ROUND));
            channels.add(fixture.connect(server, talkers.get(i)));
            addLoop(channels.get(i));
            addLoop(fixture.accepted());
        }
    }

    private static RdmaRawIoHandlerConfig config(LoopDevice device, String mac, String address) {
        return StreamFixture.config(device.name).detectDuplicateAddresses(false)
                .userspaceAddress(mac, address, null).build();
    }

    private void addLoop(RdmaRawSocketChannel channel) {
        loops.put(StreamFixture.on(channel.eventLoop(), () -> channel.tcpStack().deviceQueue()), channel.eventLoop());
    }

    /** Sends more data and injects faults into some of the queues. */
    void strikeSome() {
        for (int i = 0; i < CONNECTIONS; i++) {
            RdmaRawSocketChannel channel = channels.get(i);
            Talker talker = talkers.get(i);
            channel.eventLoop().execute(() -> talker.sendMore(channel, BYTES_PER_ROUND));
        }
        if (linkGoes) {
            faults.setPortUp(random.nextBoolean());
        }
        loops.forEach((port, loop) -> StreamFixture.on(loop, () -> {
            FrameQueue queue = port.frameQueue();
            if (random.nextInt(8) == 0) {
                faults.failWorkQueueOf(queue);
            } else if (random.nextBoolean()) {
                RandomFaults.strike(faults, queue, random.nextBoolean(), random);
            }
            return null;
        }));
        if (random.nextInt(4) == 0) {
            RandomFaults.failCommands(faults, random);
        }
    }

    /** Returns when all data has come back in order. */
    void awaitAllBack() throws InterruptedException {
        faults.setPortUp(true);
        faults.failNoCommands();
        for (int i = 0; i < CONNECTIONS; i++) {
            channels.get(i).eventLoop().submit(talkers.get(i)::enough).sync();
        }
        for (int i = 0; i < CONNECTIONS; i++) {
            talkers.get(i).awaitAllBack();
            assertTrue(channels.get(i).isActive());
        }
        loops.forEach((port, loop) -> awaitSlots(port, loop));
    }

    /** Unacknowledged segments hold slots, and the last ACK may still be in flight. */
    private static void awaitSlots(DeviceQueue port, EventLoop loop) {
        long endNanos = System.nanoTime() + Patience.NANOS;
        int missing;
        do {
            missing = StreamFixture.on(loop, () -> LoopDevice.slotsMissing(port));
        } while (missing != 0 && System.nanoTime() - endNanos < 0);
        assertEquals(0, missing, "slots lost");
    }

    @Override
    public void close() {
        faults.failNoCommands();
        fixture.close();
        shared.release();
        faults.restore();
    }
}
