package io.rdmaraw.channel;

import io.netty.util.internal.SystemPropertyUtil;
import io.rdmaraw.verbs.VerbsDevices;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Properties;

/** Tells whether the transport can be used here. */
public final class RdmaRaw {
    /** Written by Maven into each jar. */
    private static final String MAVEN_PROPERTIES =
            "/META-INF/maven/io.rdmaraw/netty-transport-rdma-raw/pom.properties";
    private static final Throwable UNAVAILABILITY_CAUSE = probe();

    private RdmaRaw() {
    }

    private static Throwable probe() {
        if (SystemPropertyUtil.getBoolean("io.netty.transport.noNative", false)) {
            return new UnsupportedOperationException(
                    "native transports are switched off by -Dio.netty.transport.noNative=true");
        }
        try {
            return VerbsDevices.names().isEmpty() ? VerbsDevices.softwareUnavailabilityCause() : null;
        } catch (Throwable t) {
            return t;
        }
    }

    /** Tells whether at least one provider of the verbs could be loaded. */
    public static boolean isAvailable() {
        return UNAVAILABILITY_CAUSE == null;
    }

    /**
     * Does nothing if the transport is available.
     *
     * @throws UnsatisfiedLinkError otherwise, with the reason as cause
     */
    public static void ensureAvailability() {
        if (UNAVAILABILITY_CAUSE != null) {
            throw (Error) new UnsatisfiedLinkError("the RDMA raw-packet transport is not available: "
                    + UNAVAILABILITY_CAUSE.getMessage()).initCause(UNAVAILABILITY_CAUSE);
        }
    }

    /** Returns why the transport is not available, or null if it is. */
    public static Throwable unavailabilityCause() {
        return UNAVAILABILITY_CAUSE;
    }

    /** Returns the version of the transport, such as {@code 1.2.3}, or {@code unknown} outside of its jar. */
    public static String version() {
        Properties properties = new Properties();
        try (InputStream in = RdmaRaw.class.getResourceAsStream(MAVEN_PROPERTIES)) {
            if (in != null) {
                properties.load(in);
            }
        } catch (IOException e) {
            // Unknown is an answer too.
        }
        return properties.getProperty("version", "unknown");
    }

    /** Returns the names of the devices that exist now; more {@code soft:loop:NAME} devices come into being on use. */
    public static List<String> deviceNames() {
        ensureAvailability();
        return VerbsDevices.names();
    }
}
