package io.rdmaraw.testsuite.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.faults.SoftverbsCall;
import io.rdmaraw.faults.SoftverbsFaults;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.objects.AsyncEvent;
import io.rdmaraw.verbs.objects.AsyncEventType;
import io.rdmaraw.verbs.objects.MemoryRegion;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairState;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import io.rdmaraw.verbs.softverbs.Softverbs;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The conformance suite on the loop device of softverbs, and tests of the faults that only this device can inject. */
class LoopConformanceTest {
    /** A loop device used only by this class: rules belong to the device, not to the context. */
    private static final ProviderConformance.Devices LOOP = new ProviderConformance.Devices() {
        @Override
        public String sender() {
            return "soft:loop:conformance";
        }

        @Override
        public String receiver() {
            return sender();
        }
    };

    @Nested
    class States extends StateConformance {
        States() {
            super(LOOP);
        }

        @Override
        void awaitIgnored(QueuePair queuePair) {
            assertEquals(1, SoftverbsFaults.of(receiver.context).received(queuePair).notReady());
        }
    }

    @Nested
    class SendReceive extends SendReceiveConformance {
        SendReceive() {
            super(LOOP);
        }

        @Override
        void awaitDropped(int frames) {
            // The loop device delivers during the send, so the frames have already been dropped. The counters run from
            // the first opening of the device.
            assertTrue(Softverbs.of(receiver.context).receivedCounters().noReceive() >= frames);
        }
    }

    @Nested
    class Completions extends CompletionConformance {
        Completions() {
            super(LOOP);
        }
    }

    @Nested
    class Flows extends FlowConformance {
        Flows() {
            super(LOOP);
        }
    }

    @Nested
    class Rss extends RssConformance {
        Rss() {
            super(LOOP);
        }
    }

    @Nested
    class Lifecycle extends LifecycleConformance {
        Lifecycle() {
            super(LOOP);
        }
    }

    @Nested
    class Faults extends ProviderConformance {
        private static final byte[] FRAME =
                Frames.raw("02:00:00:00:00:02", "02:00:00:00:00:01", Frames.ETHER_TYPE, 60);

        Faults() {
            super(LOOP);
        }

        private SoftverbsFaults softverbs() {
            return SoftverbsFaults.of(receiver.context);
        }

        @Test
        void eachQueuePairCountsItsDrops() {
            QueuePair listening = listener("ether-type 0x88b5", 1);
            QueuePair sending = sender.readyQueuePair();
            sender.send(sending, FRAME);
            sender.send(sending, FRAME);
            assertEquals(1, softverbs().received(listening).frames());
            assertEquals(1, softverbs().received(listening).noReceive());
            listening.close();
            sender.send(sending, FRAME);
            assertEquals(1, SoftverbsFaults.of(sender.context).sent(sending).noMatch());
        }

        @Test
        void aFrameLongerThanTheMtuFailsItsSendAlone() {
            listener("ether-type 0x88b5", 1);
            QueuePair sending = sender.readyQueuePair();
            int length = sender.context.mtuBytes(1) + 19;
            long slot = sender.slot();
            assertEquals(0, sender.postSend(sending, 1, 0, new long[] {slot, length, sender.memory.lkey()}));
            assertEquals(WcStatus.LOC_LEN_ERR, sender.await().status());
            assertEquals(QueuePairState.ERR, sending.state());
        }

        @Test
        void theMtuCanBeChanged() {
            softverbs().setMtu(9000);
            try {
                assertEquals(9000, sender.context.mtuBytes(1));
                listener("ether-type 0x88b5", 1);
                byte[] jumbo = Frames.raw("02:00:00:00:00:02", "02:00:00:00:00:01", Frames.ETHER_TYPE, 9014);
                sender.send(sender.readyQueuePair(), jumbo);
                assertFrames(List.of(jumbo), receiver.awaitFrames(1));
            } finally {
                softverbs().setMtu(1500);
            }
        }

        @Test
        void aPortThatGoesDownAndUpSendsEvents() {
            QueuePair listening = listener("ether-type 0x88b5", 2);
            softverbs().setPortUp(false);
            AsyncEvent down = receiver.context.pollAsyncEvent();
            assertEquals(AsyncEventType.PORT_ERR, down.type());
            assertEquals(1, down.port());
            assertFalse(receiver.context.queryPort(1).isActive());
            QueuePair sending = sender.readyQueuePair();
            sender.send(sending, FRAME);
            softverbs().setPortUp(true);
            assertEquals(AsyncEventType.PORT_ACTIVE, receiver.context.pollAsyncEvent().type());
            sender.send(sending, FRAME);
            assertEquals(60, receiver.await().byteLength());
            assertEquals(1, softverbs().received(listening).frames());
        }

        @Test
        void aDeviceThatDiesSaysSoAndCanBeClosed() {
            QueuePair listening = listener("ether-type 0x88b5", 2);
            softverbs().failDevice();
            try {
                AsyncEvent event = receiver.context.pollAsyncEvent();
                while (event != null && event.type() != AsyncEventType.DEVICE_FATAL) {
                    event = receiver.context.pollAsyncEvent();
                }
                assertEquals(AsyncEventType.DEVICE_FATAL, event.type());
                receiver.await(2).forEach(c -> assertEquals(WcStatus.WR_FLUSH_ERR, c.status()));
                VerbsException e = assertThrows(VerbsException.class, listening::toReset);
                assertEquals(Errno.EIO, e.errno());
                listening.close();
            } finally {
                softverbs().repairDevice();
            }
        }

        @Test
        void aCompletionThatFailsTakesTheQueuePairToErrorAndItRecovers() {
            QueuePair listening = listener("ether-type 0x88b5", 3);
            QueuePair sending = sender.readyQueuePair();
            softverbs().failNextCompletion(listening, true, WcStatus.LOC_QP_OP_ERR);
            sender.send(sending, FRAME);
            List<Port.Completion> completions = receiver.await(3);
            assertEquals(WcStatus.LOC_QP_OP_ERR, completions.getFirst().status());
            assertEquals(WcStatus.WR_FLUSH_ERR, completions.getLast().status());
            listening.toReset();
            Port.ready(listening);
            receiver.receive(listening, 1);
            sender.send(sending, FRAME);
            assertEquals(WcStatus.SUCCESS, receiver.await().status());
        }

        @Test
        void theMemlockLimitIsExplained() {
            try (VerbsContext context = VerbsDevices.open("soft:loop:memlock")) {
                SoftverbsFaults.of(context).setMemlockLimit(8192);
                VerbsException e = assertThrows(VerbsException.class,
                        () -> context.allocateProtectionDomain().registerMemory(receiver.memory.address(), 1 << 20, 0));
                assertEquals(Errno.ENOMEM, e.errno());
                assertTrue(e.getMessage().contains("memlock") && e.getMessage().contains("1048576 bytes"),
                        e.getMessage());
                MemoryRegion small =
                        context.allocateProtectionDomain().registerMemory(receiver.memory.address(), 8192, 0);
                assertEquals(8192, small.lengthBytes());
                SoftverbsFaults.of(context).setMemlockLimit(-1);
            }
        }

        @Test
        void aFullRuleTableIsExplained() {
            try (VerbsContext context = VerbsDevices.open("soft:loop:rules"); Port port = new Port("soft:loop:rules")) {
                SoftverbsFaults.of(context).setFlowCapacity(2);
                QueuePair queuePair = port.readyQueuePair();
                flow(queuePair, "udp dst-port 1");
                flow(queuePair, "udp dst-port 2");
                VerbsException e = assertThrows(VerbsException.class, () -> flow(queuePair, "udp dst-port 3"));
                assertEquals(Errno.ENOMEM, e.errno());
                assertTrue(e.getMessage().contains("udp dst-port 3") && e.getMessage().contains("full"),
                        e.getMessage());
                SoftverbsFaults.of(context).setFlowCapacity(-1);
                flow(queuePair, "udp dst-port 3");
            }
        }

        @Test
        void missingRawPacketSupportAndPermissionAreExplained() {
            try (Port port = new Port("soft:loop:noraw")) {
                SoftverbsFaults softverbs = SoftverbsFaults.of(port.context);
                softverbs.setRawPacketError(Errno.EOPNOTSUPP);
                VerbsException none = assertThrows(VerbsException.class, port::readyQueuePair);
                assertTrue(none.getMessage().contains("no raw-packet queue pairs"), none.getMessage());
                softverbs.setRawPacketError(Errno.EPERM);
                VerbsException forbidden = assertThrows(VerbsException.class, port::readyQueuePair);
                assertTrue(forbidden.getMessage().contains("CAP_NET_RAW"), forbidden.getMessage());
                softverbs.setRawPacketError(0);
                port.readyQueuePair();
            }
        }

        @Test
        void anyCallCanFailAndLeavesNothingBehind() {
            try (Port port = new Port("soft:loop:failing")) {
                SoftverbsFaults softverbs = SoftverbsFaults.of(port.context);
                softverbs.failNextCall(SoftverbsCall.CREATE_QP, Errno.ENOMEM, 1);
                assertFails(Errno.ENOMEM, port::readyQueuePair);
                QueuePair queuePair = port.readyQueuePair();
                softverbs.failNextCall(SoftverbsCall.DESTROY_QP, Errno.EBUSY, 1);
                VerbsException e = assertThrows(VerbsException.class, port.domain::close);
                assertEquals("ibv_destroy_qp", e.call());
                assertFalse(queuePair.isClosed() || port.domain.isClosed(), "what could not be destroyed stays open");
                port.domain.close();
                assertTrue(queuePair.isClosed() && port.domain.isClosed());
            }
        }

        /** softverbs has the soname of libibverbs. If it is loaded first, it must not be used as rdma-core. */
        @Test
        void softverbsIsNotTakenForRdmaCore() {
            List<String> names = VerbsDevices.names();
            assertTrue(names.contains("soft:loop"), names.toString());
            assertFalse(names.contains("loop"), names.toString());
            assertThrows(VerbsException.class, () -> VerbsDevices.open("loop"));
        }

        @Test
        void anUnknownSoftDeviceListsThoseThatExist() {
            VerbsException e = assertThrows(VerbsException.class, () -> VerbsDevices.open("soft:nosuch"));
            assertEquals(Errno.ENODEV, e.errno());
            assertTrue(e.getMessage().contains("soft:loop"), e.getMessage());
            assertThrows(VerbsException.class, () -> VerbsDevices.open("soft:"));
        }
    }
}
