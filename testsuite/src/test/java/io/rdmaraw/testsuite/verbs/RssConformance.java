package io.rdmaraw.testsuite.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.RssOptions;
import io.rdmaraw.verbs.objects.RwqIndirectionTable;
import io.rdmaraw.verbs.objects.WorkQueue;
import io.rdmaraw.verbs.objects.WorkQueueState;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Work queues, indirection tables and the Toeplitz hash. */
abstract class RssConformance extends ProviderConformance {
    /** Key and test vectors published by Microsoft in "Verifying the RSS Hash Calculation". */
    private static final byte[] KEY = HexFormat.of().parseHex(
            "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa");
    private static final int QUEUES = 16;
    private static final int TABLE_ENTRIES = 256;

    RssConformance(Devices devices) {
        super(devices);
    }

    /** Work queues with one completion queue each, so that a completion identifies its queue. */
    private final class Spread {
        final List<CompletionQueue> completionQueues = new ArrayList<>();
        final List<WorkQueue> workQueues = new ArrayList<>();

        Spread() {
            for (int i = 0; i < QUEUES; i++) {
                CompletionQueue completions = receiver.context.createCompletionQueue(64, null, 0);
                WorkQueue queue = receiver.context.createWorkQueue(receiver.domain, completions, 32, 1, 0);
                queue.toReady();
                receiver.receive(queue, 8);
                completionQueues.add(completions);
                workQueues.add(queue);
            }
        }

        /**
         * Returns a table in which entry {@code hash} leads to the queue given by four bits of the hash, starting at
         * bit {@code shift}.
         */
        RwqIndirectionTable table(int shift) {
            WorkQueue[] entries = new WorkQueue[TABLE_ENTRIES];
            for (int i = 0; i < entries.length; i++) {
                entries[i] = workQueues.get(i >> shift & QUEUES - 1);
            }
            return receiver.context.createIndirectionTable(entries);
        }

        /** Waits for one frame and returns the index of its queue. */
        int receivingQueue() {
            long deadline = System.nanoTime() + 20_000_000_000L;
            while (System.nanoTime() - deadline < 0) {
                for (int i = 0; i < QUEUES; i++) {
                    for (Port.Completion completion : receiver.poll(completionQueues.get(i))) {
                        receiver.bytes(completion);
                        receiver.receive(workQueues.get(i), 1);
                        return i;
                    }
                }
            }
            throw new AssertionError("no frame arrived");
        }
    }

    final QueuePair rss(RwqIndirectionTable table, long fields) {
        return receiver.queuePair(o -> o.rss(new RssOptions(table, fields, KEY, receiver.context.ownPort())));
    }

    /**
     * Determines the low eight bits of a frame's hash. Sends the frame twice, through tables that select the queue by
     * different bits.
     */
    private int hashOf(Spread spread, long fields, byte[] frame) {
        QueuePair sending = sender.readyQueuePair();
        int hash = 0;
        for (int shift = 0; shift < 8; shift += 4) {
            try (RwqIndirectionTable table = spread.table(shift)) {
                flow(rss(table, fields), "all");
                sender.send(sending, frame);
                hash |= spread.receivingQueue() << shift;
            }
        }
        sending.close();
        return hash;
    }

    @ParameterizedTest
    @CsvSource({
        "66.9.149.187,   2794, 161.142.100.80,  1766, 323e8fc2, 51ccc178",
        "199.92.111.2,  14230, 65.69.140.83,    4739, d718262a, c626b0ea",
        "24.19.198.95,  12898, 12.22.207.184,  38024, d2d0a5de, 5c2b394a",
        "38.27.205.30,  48228, 209.142.163.6,   2217, 82989176, afc7327f",
        "153.39.163.191, 44251, 202.188.127.2,  1303, 5d1809c5, 10e828a2",
        "3ffe:2501:200:1fff::7, 2794, 3ffe:2501:200:3::1, 1766, 2cc18cd5, 40207d3d",
        "3ffe:501:8::260:97ff:fe40:efab, 14230, ff02::1, 4739, 0f0c461c, dde51bbf",
        "3ffe:1900:4545:3:200:f8ff:fe21:67cf, 44251, fe80::200:f8ff:fe21:67cf, 38024, 4b61e985, 02d1feef",
    })
    void theHashIsToeplitz(String source, int sourcePort, String destination, int destinationPort, String addressHash,
            String portHash) {
        boolean v6 = source.contains(":");
        long addresses = v6 ? RssOptions.SOURCE_IPV6 | RssOptions.DESTINATION_IPV6
                : RssOptions.SOURCE_IPV4 | RssOptions.DESTINATION_IPV4;
        Spread spread = new Spread();
        byte[] tcp = v6 ? Frames.tcp6(source, sourcePort, destination, destinationPort)
                : Frames.tcp4(source, sourcePort, destination, destinationPort);
        byte[] udp = v6 ? Frames.udp6(source, sourcePort, destination, destinationPort)
                : Frames.udp4(source, sourcePort, destination, destinationPort);
        assertEquals(lowByte(addressHash), hashOf(spread, addresses, tcp));
        assertEquals(lowByte(portHash), hashOf(spread, addresses | RssOptions.SOURCE_PORT_TCP
                | RssOptions.DESTINATION_PORT_TCP, tcp));
        assertEquals(lowByte(portHash), hashOf(spread, addresses | RssOptions.SOURCE_PORT_UDP
                | RssOptions.DESTINATION_PORT_UDP, udp));
    }

    private static int lowByte(String hash) {
        return Integer.parseUnsignedInt(hash, 16) & 0xff;
    }

    @Test
    void framesWithoutAHashGoToOneQueue() {
        Spread spread = new Spread();
        flow(rss(spread.table(0), RssOptions.SOURCE_IPV4 | RssOptions.DESTINATION_IPV4), "all");
        QueuePair sending = sender.readyQueuePair();
        sender.send(sending, Frames.raw("02:00:00:00:00:02", "02:00:00:00:00:01", Frames.ETHER_TYPE, 60));
        int queue = spread.receivingQueue();
        sender.send(sending, Frames.raw("02:00:00:00:00:09", "02:00:00:00:00:08", Frames.ETHER_TYPE + 1, 80));
        assertEquals(queue, spread.receivingQueue());
    }

    @Test
    void aWorkQueueHasStates() {
        WorkQueue queue = receiver.context.createWorkQueue(receiver.domain, receiver.completionQueue, 16, 2, 0);
        assertEquals(WorkQueueState.RESET, queue.state());
        assertTrue(queue.maxWr() >= 16 && queue.maxSge() >= 2);
        assertFails(Errno.EINVAL, queue::toError);
        queue.toReady();
        assertEquals(WorkQueueState.RDY, queue.state());
        receiver.receive(queue, 3);
        queue.toError();
        assertEquals(WorkQueueState.ERR, queue.state());
        receiver.await(3).forEach(c -> assertEquals(WcStatus.WR_FLUSH_ERR, c.status()));
        queue.toReset();
        queue.toReady();
        receiver.receive(queue, 1);
    }

    @Test
    void aTableNeedsAPowerOfTwoOfQueues() {
        WorkQueue queue = receiver.context.createWorkQueue(receiver.domain, receiver.completionQueue, 16, 1, 0);
        assertThrows(IllegalArgumentException.class, () -> receiver.context.createIndirectionTable(queue, queue,
                queue));
        assertThrows(IllegalArgumentException.class, () -> receiver.context.createIndirectionTable());
        receiver.context.createIndirectionTable(queue);
    }

    @Test
    void anRssQueuePairHasNoStatesAndNoReceiveQueue() {
        WorkQueue queue = receiver.context.createWorkQueue(receiver.domain, receiver.completionQueue, 16, 1, 0);
        QueuePair rss = rss(receiver.context.createIndirectionTable(queue), RssOptions.SOURCE_IPV4);
        assertThrows(VerbsException.class, () -> rss.toInit(rss.port()));
        long slot = receiver.slot();
        assertTrue(receiver.postReceive(rss, 1, new long[] {slot, 64, receiver.memory.lkey()}) != 0);
    }

    @Test
    void ipv4AndIpv6FieldsDoNotMix() {
        WorkQueue queue = receiver.context.createWorkQueue(receiver.domain, receiver.completionQueue, 16, 1, 0);
        RwqIndirectionTable table = receiver.context.createIndirectionTable(queue);
        assertThrows(IllegalArgumentException.class,
                () -> new RssOptions(table, RssOptions.SOURCE_IPV4 | RssOptions.SOURCE_IPV6, KEY, 1));
        assertThrows(IllegalArgumentException.class,
                () -> new RssOptions(table, RssOptions.SOURCE_PORT_TCP | RssOptions.SOURCE_PORT_UDP, KEY, 1));
        assertThrows(IllegalArgumentException.class, () -> new RssOptions(table, RssOptions.SOURCE_IPV4, new byte[39],
                1));
    }
}
