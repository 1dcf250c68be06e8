package io.rdmaraw.microbench.result;

import io.rdmaraw.testsuite.net.Offloads;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** Whether the ends of the veth pair of a bench leave checksums and the cutting of segments to each other. */
public final class OffloadsOption {
    @Option(names = "--offloads", paramLabel = "on|off", defaultValue = "on", converter = Names.class,
            description = "on: the veth pair has all the offloads that the kernel gives it, as containers have them;"
                    + " off: none at both ends, so that frames are as on a cable (${DEFAULT-VALUE})")
    private Offloads offloads;

    /** Returns what was asked for. */
    public Offloads offloads() {
        return offloads;
    }

    /** Returns a line for the progress of a bench. */
    public static String describe(Offloads offloads) {
        return offloads == Offloads.OFF ? "veth pair: all offloads off, as frames are on a cable"
                : "veth pair: all offloads on, as the kernel makes it";
    }

    /** The words of the command line. */
    static final class Names implements ITypeConverter<Offloads> {
        @Override
        public Offloads convert(String word) {
            return switch (word) {
                case "on" -> Offloads.AS_MADE;
                case "off" -> Offloads.OFF;
                default -> throw new TypeConversionException('\'' + word + "' is neither on nor off");
            };
        }
    }
}
