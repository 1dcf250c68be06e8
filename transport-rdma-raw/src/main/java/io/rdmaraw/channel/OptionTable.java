package io.rdmaraw.channel;

import io.netty.channel.ChannelOption;
import io.netty.channel.socket.nio.NioChannelOption;

import java.net.SocketOption;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * Which options the channels of a kind have beside those of all channels, and where each is read and set. Filled once,
 * in a static initialiser.
 *
 * @param <C> the channels' settings
 */
final class OptionTable<C> {
    private record Setting<C, T>(Function<C, T> getter, BiConsumer<C, T> setter) {
    }

    private final Map<ChannelOption<?>, Setting<C, ?>> settings = new LinkedHashMap<>();
    /** Other names are not listed among the options. */
    private final Map<ChannelOption<?>, Setting<C, ?>> otherNames = new HashMap<>();
    private final Map<String, Setting<C, ?>> socketOptions = new HashMap<>();
    private ChannelOption<?>[] options = {};

    <T> OptionTable<C> with(ChannelOption<T> option, Function<C, T> getter, BiConsumer<C, T> setter) {
        settings.put(option, new Setting<>(getter, setter));
        options = settings.keySet().toArray(ChannelOption[]::new);
        return this;
    }

    /** Another transport's name of an option that is in the table: programs set it whatever transport they run on. */
    <T> OptionTable<C> alsoAs(ChannelOption<T> other, ChannelOption<T> option) {
        otherNames.put(other, setting(option));
        return this;
    }

    /** The JDK's name of an option that is in the table, for {@link NioChannelOption#of}. */
    <T> OptionTable<C> alsoAs(SocketOption<T> other, ChannelOption<T> option) {
        socketOptions.put(other.name(), setting(option));
        return this;
    }

    /** An option that has only a name of the JDK's. */
    <T> OptionTable<C> with(SocketOption<T> option, Function<C, T> getter, BiConsumer<C, T> setter) {
        socketOptions.put(option.name(), new Setting<>(getter, setter));
        return this;
    }

    /** An option of the JDK's that these channels cannot have, for the reason that the user is told. */
    <T> OptionTable<C> without(SocketOption<T> option, String reason) {
        String message = option.name() + " is not an option of this transport's channels: " + reason;
        return with(option, config -> {
            throw new UnsupportedOperationException(message);
        }, (config, value) -> {
            throw new UnsupportedOperationException(message);
        });
    }

    /** Returns the options, in the order they were added. */
    ChannelOption<?>[] options() {
        return options;
    }

    boolean has(ChannelOption<?> option) {
        return setting(option) != null;
    }

    <T> T get(C config, ChannelOption<T> option) {
        return this.<T>setting(option).getter().apply(config);
    }

    <T> void set(C config, ChannelOption<T> option, T value) {
        this.<T>setting(option).setter().accept(config, value);
    }

    /**
     * An option and its setting are of one type: the methods above are the only way in. Each call of
     * {@link NioChannelOption#of} makes another object, which is known by its name.
     */
    @SuppressWarnings("unchecked")
    private <T> Setting<C, T> setting(ChannelOption<T> option) {
        Setting<C, ?> found = settings.get(option);
        if (found == null) {
            found = option instanceof NioChannelOption ? socketOptions.get(option.name()) : otherNames.get(option);
        }
        return (Setting<C, T>) found;
    }
}
