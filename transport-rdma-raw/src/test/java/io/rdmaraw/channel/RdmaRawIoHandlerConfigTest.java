package io.rdmaraw.channel;

import org.junit.jupiter.api.Test;

import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Configurations that are built from other configurations. */
class RdmaRawIoHandlerConfigTest {
    private static final RdmaRawIoHandlerConfig CONFIG = RdmaRawIoHandlerConfig.builder().device("soft:xdp:eth0")
            .receiveQueueDepth(512).sendQueueDepth(256).slotCount(2048).slotBytes(4096).maxSendSge(5)
            .maxReceiveBufferBytes(12345).maxUnresolvedPackets(7).segmentationOffload(false)
            .spin(3, TimeUnit.MICROSECONDS).drainTimeout(4, TimeUnit.SECONDS)
            .listensByDevice(local -> local.getPort() == 80).fastOpenKey(1, 2)
            .userspaceAddress("02:00:00:00:00:05", "10.0.0.5/24", "10.0.0.1").build();

    @Test
    void toBuilderStartsFromConfig() {
        RdmaRawIoHandlerConfig same = CONFIG.toBuilder().build();
        assertEquals(CONFIG.toString(), same.toString());
        assertEquals(CONFIG.queueOptions(), same.queueOptions());
        assertEquals(CONFIG.userspaceHostOrNull(), same.userspaceHostOrNull());
        assertEquals(12345, same.maxReceiveBufferBytes());
        assertEquals(7, same.maxUnresolvedPackets());
        assertEquals(TimeUnit.SECONDS.toNanos(4), same.drainTimeoutNanos());
        assertFalse(same.listensByDevice(new InetSocketAddress(81)));
        RdmaRawIoHandlerConfig other = CONFIG.toBuilder().spin(9, TimeUnit.MICROSECONDS).build();
        assertEquals(CONFIG.toString().replace("spin 3.0", "spin 9.0"), other.toString());
    }

    @Test
    void toBuilderDoesNotChangeConfig() {
        RdmaRawIoHandlerConfig two = CONFIG.toBuilder()
                .userspaceAddress("02:00:00:00:00:05", "10.0.1.5/24", null).build();
        assertEquals(2, two.userspaceHostOrNull().addresses().size());
        assertEquals(1, CONFIG.userspaceHostOrNull().addresses().size());
        assertEquals(1, CONFIG.toBuilder().build().userspaceHostOrNull().addresses().size());
    }

    @Test
    void laterChangesOfBuilderDoNotChangeBuiltConfig() {
        RdmaRawIoHandlerConfig.Builder builder = RdmaRawIoHandlerConfig.builder().device("soft:loop");
        RdmaRawIoHandlerConfig built = builder.build();
        builder.device("soft:xdp:eth0");
        assertEquals("soft:loop", built.toBuilder().build().device());
    }

    /**
     * Derived values are computed again. Otherwise, with twice the slots, a connection would not get twice the buffer.
     */
    @Test
    void derivedSettingsAreComputedAgain() {
        RdmaRawIoHandlerConfig small = RdmaRawIoHandlerConfig.builder().slotCount(2048).build();
        assertEquals(2 * small.maxReceiveBufferBytes(), small.toBuilder().slotCount(4096).build()
                .maxReceiveBufferBytes());
        assertTrue(small.toBuilder().build().missingDeviceWarning().isDeviceMissing(), "no device was named");
    }
}
