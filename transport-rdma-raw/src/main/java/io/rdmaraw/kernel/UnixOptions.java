package io.rdmaraw.kernel;

import io.netty.channel.ChannelOption;
import io.netty.channel.unix.GenericUnixChannelOption;
import io.netty.channel.unix.IntegerUnixChannelOption;
import io.netty.channel.unix.RawUnixChannelOption;
import io.rdmaraw.net.socket.NumberedOptions;

import java.nio.ByteBuffer;

/**
 * Support for Netty's options by level and number: {@code IntegerUnixChannelOption} and {@code RawUnixChannelOption}.
 * Their classes are in an optional jar.
 */
public final class UnixOptions {
    private static final boolean AVAILABLE = isClassThere();

    private UnixOptions() {
    }

    private static boolean isClassThere() {
        try {
            Class.forName("io.netty.channel.unix.GenericUnixChannelOption", false,
                    UnixOptions.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    /** Returns level and number of an option; null if the option is not given by number. */
    public static NumberedOptions.Key keyOrNull(ChannelOption<?> option) {
        return AVAILABLE ? Known.keyOrNull(option) : null;
    }

    /** Returns level and number of an option with an {@code int} value; null for any other option. */
    public static NumberedOptions.Key integerKeyOrNull(ChannelOption<?> option) {
        return AVAILABLE && Known.isInteger(option) ? Known.keyOrNull(option) : null;
    }

    /** Returns the maximum number of bytes of the value of an option that is given by number. */
    static int lengthBytes(ChannelOption<?> option) {
        return Known.lengthBytes(option);
    }

    /** Returns the value of an option that is given by number, as setsockopt(2) expects it. */
    public static byte[] encode(Object value) {
        if (value instanceof Integer number) {
            return NumberedOptions.ofInt(number);
        }
        ByteBuffer content = ((ByteBuffer) value).duplicate();
        byte[] bytes = new byte[content.remaining()];
        content.get(bytes);
        return bytes;
    }

    /** Converts a value of getsockopt(2) to the type of an option that is given by number. */
    @SuppressWarnings("unchecked") // the two classes determine the type of the value
    public static <T> T decode(ChannelOption<T> option, byte[] value) {
        return (T) (Known.isInteger(option) ? (Object) NumberedOptions.toInt(value) : ByteBuffer.wrap(value));
    }

    private static final class Known {
        static NumberedOptions.Key keyOrNull(ChannelOption<?> option) {
            return option instanceof GenericUnixChannelOption<?> numbered
                    ? new NumberedOptions.Key(numbered.level(), numbered.optname()) : null;
        }

        static boolean isInteger(ChannelOption<?> option) {
            return option instanceof IntegerUnixChannelOption;
        }

        static int lengthBytes(ChannelOption<?> option) {
            return option instanceof RawUnixChannelOption raw ? raw.length() : Integer.BYTES;
        }
    }
}
