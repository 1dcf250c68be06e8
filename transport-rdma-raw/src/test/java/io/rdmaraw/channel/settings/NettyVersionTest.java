package io.rdmaraw.channel.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.netty.channel.IoEvent;
import io.netty.channel.IoHandle;
import io.netty.channel.IoRegistration;
import io.netty.util.Version;
import org.junit.jupiter.api.Test;

/**
 * The error for a Netty version that is too old. {@code ./rdma-raw test --netty-versions} runs the tests with real
 * versions.
 */
class NettyVersionTest {
    /** {@link IoHandle} as it was before 4.2.7. */
    @SuppressWarnings("try") // close() throws Exception
    private interface OldHandle extends AutoCloseable {
        void handle(IoRegistration registration, IoEvent event);
    }

    @Test
    void versionOnClassPathIsAccepted() {
        assertNull(NettyVersion.unavailabilityCause());
    }

    @Test
    void oldVersionIsReportedWithRemedy() {
        Version transport = Version.identify().get("netty-transport");
        assertNotNull(transport);
        String remedy = " on the class path is too old: use 4.2.7 or newer for all jars of Netty";
        assertEquals("Netty " + transport.artifactVersion() + remedy,
                NettyVersion.unavailabilityCause(OldHandle.class, transport).getMessage());
        assertEquals("Netty of an unknown version" + remedy,
                NettyVersion.unavailabilityCause(OldHandle.class, null).getMessage());
    }
}
