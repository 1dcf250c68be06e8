package io.rdmaraw.channel.settings;

import io.netty.channel.ChannelOption;
import io.netty.channel.socket.nio.NioChannelOption;
import io.rdmaraw.kernel.UnixOptions;
import io.rdmaraw.net.socket.NumberedOptions;

import java.net.SocketOption;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * The options that a kind of channel supports in addition to those of all channels, with their getters and setters.
 * Filled once, in a static initializer.
 *
 * @param <C> the type of the configuration
 */
public final class OptionTable<C> {
    /** Levels of Linux's socket options. */
    public static final int IPPROTO_IP = 0;
    public static final int SOL_SOCKET = 1;
    public static final int IPPROTO_TCP = 6;

    private record Setting<C, T>(Function<C, T> getter, BiConsumer<C, T> setter) {
    }

    private final Map<ChannelOption<?>, Setting<C, ?>> settings = new LinkedHashMap<>();
    /** Settings by the options of other Netty transports with the same meaning. Not listed by {@link #options()}. */
    private final Map<ChannelOption<?>, Setting<C, ?>> aliases = new HashMap<>();
    /** Settings by the JDK's option names. Not listed by {@link #options()}. */
    private final Map<String, Setting<C, ?>> socketOptions = new HashMap<>();
    /** Settings by Linux's level and number of an {@code int} option. Not listed by {@link #options()}. */
    private final Map<NumberedOptions.Key, Setting<C, Integer>> numbers = new HashMap<>();
    private ChannelOption<?>[] options = {};

    public <T> OptionTable<C> with(ChannelOption<T> option, Function<C, T> getter, BiConsumer<C, T> setter) {
        settings.put(option, new Setting<>(getter, setter));
        options = settings.keySet().toArray(ChannelOption[]::new);
        return this;
    }

    /**
     * Adds the name that another Netty transport uses for an option in the table. Programs can then set that name
     * regardless of the transport.
     */
    public <T> OptionTable<C> alias(ChannelOption<T> other, ChannelOption<T> option) {
        aliases.put(other, setting(option));
        return this;
    }

    /** Adds the JDK's name of an option in the table, for {@link NioChannelOption#of}. */
    public <T> OptionTable<C> alias(SocketOption<T> other, ChannelOption<T> option) {
        socketOptions.put(other.name(), setting(option));
        return this;
    }

    /**
     * Adds the name that {@code jdk.net} uses for an option. It is a string, because the module may be absent at run
     * time.
     */
    public <T> OptionTable<C> alias(String jdkName, ChannelOption<T> option) {
        socketOptions.put(jdkName, setting(option));
        return this;
    }

    /** Adds Linux's level and number of an option in the table, for options that are given by number. */
    public OptionTable<C> numbered(int level, int number, ChannelOption<Integer> option) {
        return putNumber(level, number, setting(option));
    }

    /** Adds Linux's level and number of a flag in the table. */
    public OptionTable<C> numberedFlag(int level, int number, ChannelOption<Boolean> option) {
        Setting<C, Boolean> flag = setting(option);
        return putNumber(level, number, new Setting<>(config -> flag.getter().apply(config) ? 1 : 0,
                (config, value) -> flag.setter().accept(config, value != 0)));
    }

    /** Adds Linux's level and number of an option in the table with values beyond the range of {@code int}. */
    public OptionTable<C> numberedLong(int level, int number, ChannelOption<Long> option) {
        Setting<C, Long> wide = setting(option);
        return putNumber(level, number, new Setting<>(config -> wide.getter().apply(config).intValue(),
                (config, value) -> wide.setter().accept(config, Integer.toUnsignedLong(value))));
    }

    private OptionTable<C> putNumber(int level, int number, Setting<C, Integer> setting) {
        numbers.put(new NumberedOptions.Key(level, number), setting);
        return this;
    }

    /** Adds an option that only the JDK defines. */
    public <T> OptionTable<C> with(SocketOption<T> option, Function<C, T> getter, BiConsumer<C, T> setter) {
        socketOptions.put(option.name(), new Setting<>(getter, setter));
        return this;
    }

    /**
     * Adds an option of the JDK that these channels do not support. Getting or setting it throws an exception with the
     * reason.
     */
    public OptionTable<C> withUnsupported(String jdkName, String reason) {
        String message = jdkName + " is not an option of this transport's channels: " + reason;
        socketOptions.put(jdkName, new Setting<>(config -> {
            throw new UnsupportedOperationException(message);
        }, (config, value) -> {
            throw new UnsupportedOperationException(message);
        }));
        return this;
    }

    /** Returns the options in the order in which they were added. */
    public ChannelOption<?>[] options() {
        return options;
    }

    public boolean has(ChannelOption<?> option) {
        return setting(option) != null;
    }

    public <T> T get(C config, ChannelOption<T> option) {
        return this.<T>setting(option).getter().apply(config);
    }

    public <T> void set(C config, ChannelOption<T> option, T value) {
        this.<T>setting(option).setter().accept(config, value);
    }

    /**
     * Finds an option. The cast is safe, because with() adds an option together with accessors of its type. Options of
     * {@link NioChannelOption#of} are found by name, because each call creates a new object.
     */
    @SuppressWarnings("unchecked")
    private <T> Setting<C, T> setting(ChannelOption<T> option) {
        Setting<C, ?> found = settings.get(option);
        if (found == null) {
            found = option instanceof NioChannelOption ? socketOptions.get(option.name()) : aliases.get(option);
        }
        if (found == null) {
            NumberedOptions.Key key = UnixOptions.integerKeyOrNull(option);
            found = key == null ? null : numbers.get(key);
        }
        return (Setting<C, T>) found;
    }
}
