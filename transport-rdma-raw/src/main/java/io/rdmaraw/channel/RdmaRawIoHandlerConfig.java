package io.rdmaraw.channel;

import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.queue.FrameQueueOptions;
import io.rdmaraw.tcp.TcpConfig;

import java.util.concurrent.TimeUnit;

/** How the loops of a group drive their queues. Immutable; made by {@link #builder()}. */
public final class RdmaRawIoHandlerConfig {
    private static final RdmaRawIoHandlerConfig DEFAULT = builder().build();

    private final FrameQueueOptions queueOptions;
    private final long spinNanos;
    private final String ipDevice;

    private RdmaRawIoHandlerConfig(Builder builder) {
        queueOptions = new FrameQueueOptions(builder.receiveQueueDepth, builder.sendQueueDepth, builder.maxSendSge,
                builder.slotCount, builder.slotBytes);
        spinNanos = builder.spinNanos;
        ipDevice = builder.ipDevice;
    }

    /** Returns the default settings. */
    public static RdmaRawIoHandlerConfig defaults() {
        return DEFAULT;
    }

    /** Returns a builder that starts from the default settings. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns the settings of a loop's TCP on a device of this MTU that gathers so many parts of payload. */
    TcpConfig tcpConfig(int mtuBytes, int maxParts) {
        return TcpConfig.builder().mtuBytes(mtuBytes).maxSlices(Math.max(1, maxParts)).build();
    }

    FrameQueueOptions queueOptions() {
        return queueOptions;
    }

    /** Returns the device of the channels that are bound to IP addresses. */
    public String ipDevice() {
        return ipDevice;
    }

    /** Returns for how long a loop without work polls before it sleeps, in nanoseconds. */
    public long spinNanos() {
        return spinNanos;
    }

    /** Returns how many frames can come in between two polls of a loop. */
    public int receiveQueueDepth() {
        return queueOptions.receiveQueueDepth();
    }

    /** Returns how many frames of a loop can be with the device. */
    public int sendQueueDepth() {
        return queueOptions.sendQueueDepth();
    }

    /** Returns how many parts a frame is gathered from before it is copied together. */
    public int maxSendSge() {
        return queueOptions.maxSendSge();
    }

    /** Returns the number of slots of registered memory per loop and port. */
    public int slotCount() {
        return queueOptions.slotCount();
    }

    /** Returns the length of a slot in bytes. */
    public int slotBytes() {
        return queueOptions.slotBytes();
    }

    /** Collects settings; each is checked when {@link #build()} is called. */
    public static final class Builder {
        private int receiveQueueDepth = 1024;
        private int sendQueueDepth = 1024;
        private int maxSendSge = 4;
        private int slotCount = 4096;
        private int slotBytes = 2048;
        private long spinNanos = TimeUnit.MICROSECONDS.toNanos(20);
        private String ipDevice = "soft:loop";

        private Builder() {
        }

        /** Sets how many frames can come in between two polls of a loop: a power of two, at least 64. */
        public Builder receiveQueueDepth(int frames) {
            receiveQueueDepth = frames;
            return this;
        }

        /** Sets how many frames of a loop can be with the device: a power of two, at least 64. */
        public Builder sendQueueDepth(int frames) {
            sendQueueDepth = frames;
            return this;
        }

        /** Sets from how many parts a frame is gathered before it is copied together: at least 2. */
        public Builder maxSendSge(int parts) {
            maxSendSge = parts;
            return this;
        }

        /**
         * Sets the number of slots of registered memory per loop and port. What exceeds the receive queue is what
         * handlers can hold before received frames have to be copied.
         */
        public Builder slotCount(int slots) {
            slotCount = slots;
            return this;
        }

        /**
         * Sets the bytes of memory per slot: a power of two that holds the largest frame, and from 2048 on 448 bytes
         * more, by which the frames' beginnings are spread over the cache. 2048 serves an MTU of 1500.
         */
        public Builder slotBytes(int bytes) {
            slotBytes = bytes;
            return this;
        }

        /**
         * Sets for how long a loop without work polls before it sleeps; 0 sleeps at once. Spinning takes a core and
         * saves the tens of microseconds that waking takes.
         */
        public Builder spin(long duration, TimeUnit unit) {
            spinNanos = unit.toNanos(ObjectUtil.checkPositiveOrZero(duration, "duration"));
            return this;
        }

        /**
         * Sets the device of the channels that are bound to IP addresses, named as {@link RdmaRawAddress} names
         * devices. Default {@code soft:loop}.
         */
        public Builder ipDevice(String deviceName) {
            ipDevice = ObjectUtil.checkNonEmpty(deviceName, "deviceName");
            return this;
        }

        /**
         * Returns the settings.
         *
         * @throws IllegalArgumentException when one is out of its range, which the message names
         */
        public RdmaRawIoHandlerConfig build() {
            return new RdmaRawIoHandlerConfig(this);
        }
    }
}
