package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.SharedDevice;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Queues fail and are recovered while connections carry data. Lost segments are retransmitted and no byte is missing.
 */
@Timeout(120)
class RdmaRawSocketChannelRecoveryTest {
    private static final int CONNECTIONS = 6;
    private static final int FAULTS = 4;

    /** Faults of a loop's queue. */
    enum Fault {
        /** Recovered in place. */
        QUEUE_PAIR {
            @Override
            void happen(FrameQueue queue, DeviceFaults faults) {
                faults.failQueuePair(queue.queuePair());
            }
        },
        /**
         * The work queue is reset alone. A server on a userspace host receives its connections through work queues. On
         * a loop device the work queue is only opened here, while received frames are held by an echo; that must not
         * disturb the other connections.
         */
        WORK_QUEUE {
            @Override
            void happen(FrameQueue queue, DeviceFaults faults) {
                faults.failWorkQueue(queue);
            }
        },
        /** Recovered with new queues. */
        RECEIVES_OVERRUN {
            @Override
            void happen(FrameQueue queue, DeviceFaults faults) {
                faults.overrunCompletions(queue, true);
            }
        },
        SENDS_OVERRUN {
            @Override
            void happen(FrameQueue queue, DeviceFaults faults) {
                faults.overrunCompletions(queue, false);
            }
        };

        /** Injects the fault; called on the loop of the queue. */
        abstract void happen(FrameQueue queue, DeviceFaults faults);
    }

    /** The network that assigns the addresses of both ends. */
    enum Network {
        /** The loop device: one rule delivers all connections of a loop to its queue pair. */
        LOOP("127.0.0.1"),
        /** Two userspace hosts: connections of a server arrive at the work queues of its loops. */
        OWN("10.11.0.1");

        private final String server;

        Network(String server) {
            this.server = server;
        }

        RdmaRawIoHandlerConfig config(String device, String mac, String address) {
            RdmaRawIoHandlerConfig.Builder config = StreamFixture.config(device);
            return (this == LOOP ? config : config.detectDuplicateAddresses(false).userspaceAddress(mac, address, null))
                    .build();
        }
    }

    private LoopDevice device;
    private SharedDevice shared;
    private DeviceFaults faults;
    private StreamFixture fixture;

    private void open(Network network) {
        device = network == Network.LOOP ? LoopDevice.inMemory() : new LoopDevice();
        shared = SharedDevice.acquire(device.name);
        faults = DeviceFaults.of(shared.context());
        fixture = new StreamFixture(network.config(device.name, "02:00:00:0b:00:01", "10.11.0.1/24"), 2,
                network.config(device.name, "02:00:00:0b:00:02", "10.11.0.2/24"), 1);
    }

    @AfterEach
    void shutDown() {
        fixture.close();
        shared.release();
    }

    @ParameterizedTest
    @EnumSource
    @Tag("softverbs")
    void connectionsOutliveFaultsOfTheirQueues(Fault fault) throws Exception {
        outlive(Network.LOOP, fault);
    }

    @ParameterizedTest
    @EnumSource
    void connectionsOfOwnHostsOutliveFaultsOfTheirQueues(Fault fault) throws Exception {
        outlive(Network.OWN, fault);
    }

    private void outlive(Network network, Fault fault) throws Exception {
        open(network);
        List<Talker> talkers = new ArrayList<>();
        List<Channel> channels = connect(network, talkers);
        Map<DeviceQueue, EventLoop> loops = new LinkedHashMap<>();
        for (int i = 0; i < CONNECTIONS; i++) {
            addLoop(loops, fixture.accepted());
        }
        if (fault != Fault.WORK_QUEUE) {
            // The loops of clients have no work queue.
            addLoop(loops, (RdmaRawSocketChannel) channels.getFirst());
        }
        for (int round = 0; round < FAULTS; round++) {
            for (Map.Entry<DeviceQueue, EventLoop> at : loops.entrySet()) {
                failAndAwaitRecovery(at.getKey(), at.getValue(), fault);
            }
        }
        for (int i = 0; i < CONNECTIONS; i++) {
            channels.get(i).eventLoop().submit(talkers.get(i)::enough).sync();
        }
        for (int i = 0; i < CONNECTIONS; i++) {
            Talker talker = talkers.get(i);
            talker.awaitAllBack();
            assertTrue(channels.get(i).isActive());
        }
    }

    private List<Channel> connect(Network network, List<Talker> talkers) throws InterruptedException {
        InetSocketAddress server = fixture.listen(network.server, new StreamFixture.Echo(), settings -> { });
        List<Channel> channels = new ArrayList<>();
        for (int i = 0; i < CONNECTIONS; i++) {
            talkers.add(new Talker(i));
            channels.add(fixture.connect(server, talkers.get(i)));
        }
        return channels;
    }

    private static void addLoop(Map<DeviceQueue, EventLoop> loops, RdmaRawSocketChannel channel)
            throws InterruptedException {
        EventLoop loop = channel.eventLoop();
        loops.put(loop.submit(() -> channel.tcpStack().deviceQueue()).sync().getNow(), loop);
    }

    private void failAndAwaitRecovery(DeviceQueue port, EventLoop loop, Fault fault) throws InterruptedException {
        long before = loop.submit(() -> {
            long recoveries = port.frameQueue().counters().recoveries;
            fault.happen(port.frameQueue(), faults);
            return recoveries;
        }).sync().getNow();
        // Each check is a task on the loop, until the loop has recovered the queue. Ends with the timeout of the test.
        while (loop.submit(() -> port.frameQueue().counters().recoveries).sync().getNow() == before) {
            Thread.onSpinWait();
        }
    }
}
