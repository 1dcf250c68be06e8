package io.rdmaraw.channel.settings;

import io.netty.channel.IoHandle;
import io.netty.util.Version;

/**
 * Checks whether the version of Netty on the class path is supported. With an older version, channels would never open:
 * the missing method is called on the loop, where the error fails no promise.
 */
public final class NettyVersion {
    /** Oldest supported version, the first with IoHandle.registered(). */
    private static final String OLDEST = "4.2.7";

    private NettyVersion() {
    }

    /** Returns an exception if the Netty on the class path is not supported; otherwise null. */
    public static Throwable unavailabilityCause() {
        return unavailabilityCause(IoHandle.class, Version.identify(IoHandle.class.getClassLoader())
                .get("netty-transport"));
    }

    /**
     * Returns an exception if a version of Netty is not supported; otherwise null.
     *
     * @param ioHandle its class {@code io.netty.channel.IoHandle}
     * @param versionOrNull version of its jar; null if unknown
     */
    public static Throwable unavailabilityCause(Class<?> ioHandle, Version versionOrNull) {
        try {
            ioHandle.getMethod("registered");
            return null;
        } catch (NoSuchMethodException e) {
            String version = versionOrNull == null ? "of an unknown version" : versionOrNull.artifactVersion();
            return new UnsupportedOperationException("Netty " + version + " on the class path is too old: use "
                    + OLDEST + " or newer for all jars of Netty", e);
        }
    }
}
