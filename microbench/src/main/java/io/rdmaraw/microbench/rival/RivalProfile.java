package io.rdmaraw.microbench.rival;

import io.rdmaraw.examples.server.OptionNames;
import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.examples.server.Tuning;
import io.rdmaraw.examples.server.Tuning.Channels;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A profile of settings with which a rival is measured. The tuned profiles are constants in this class. The
 * measurements that justify them are in {@code docs/lab/rivals.md}. {@code bench rivals} repeats these measurements but
 * does not change the profiles.
 */
public enum RivalProfile {
    /** Netty's defaults. */
    STOCK,
    /** The settings of {@link #tuned}. */
    TUNED;

    /**
     * The tuned settings of each transport. epoll has none, because {@link Tuning#RECVMMSG} made the DNS server slower.
     */
    private static final Map<Transport, Set<Tuning>> SETTINGS =
            Map.of(Transport.IO_URING, EnumSet.of(Tuning.BUFFER_RING));

    /** Returns the name of the profile in options. */
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Returns the settings of a tuned rival. The set is empty if the profile has none for channels of this kind. */
    public static Set<Tuning> tuned(Transport transport, Channels channels) {
        return only(transport, channels, SETTINGS.getOrDefault(transport, Set.of()));
    }

    /** Returns the settings that the transport supports for channels of this kind. */
    static Set<Tuning> only(Transport transport, Channels channels, Set<Tuning> settings) {
        return settings.stream().filter(each -> each.isFor(transport, channels))
                .collect(Collectors.toCollection(() -> EnumSet.noneOf(Tuning.class)));
    }

    /** Returns the command-line options that select settings, or none for an empty set. */
    public static List<String> options(Set<Tuning> tuning) {
        return tuning.isEmpty() ? List.of() : List.of("--tuning", words(tuning, ","));
    }

    /** Returns the names of the settings, separated by the delimiter. */
    public static String words(Set<Tuning> tuning, String delimiter) {
        return tuning.stream().sorted().map(Tuning::toString).collect(Collectors.joining(delimiter));
    }

    /** Parses the names in the options of commands. */
    static final class Names extends OptionNames<RivalProfile> {
        private static final long serialVersionUID = 1L;

        /** Called by picocli. */
        Names() {
            super(values(), RivalProfile::text);
        }
    }
}
