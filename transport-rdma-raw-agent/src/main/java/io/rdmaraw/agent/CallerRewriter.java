package io.rdmaraw.agent;

import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.Instruction;
import java.lang.classfile.Opcode;
import java.lang.classfile.TypeKind;
import java.lang.classfile.constantpool.ClassEntry;
import java.lang.classfile.constantpool.PoolEntry;
import java.lang.classfile.constantpool.NameAndTypeEntry;
import java.lang.classfile.instruction.ConstantInstruction.LoadConstantInstruction;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.classfile.instruction.StackInstruction;
import java.lang.classfile.instruction.TypeCheckInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DirectMethodHandleDesc;
import java.lang.constant.DynamicCallSiteDesc;
import java.lang.constant.MethodHandleDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Rewrites one class that uses a transport of Netty's. Constants of channel classes, constructors, references to
 * constructors and the factories of I/O handlers become dynamic calls of {@link Replacements}. Variables, parameters
 * and results of those classes get the type that both transports share, the interface or group class of Netty.
 */
final class CallerRewriter {
    /** Class files before it have no dynamic calls. */
    private static final int OLDEST_MAJOR_VERSION = ClassFile.JAVA_7_VERSION;
    private static final ClassDesc REPLACEMENTS = Replacements.class.describeConstable().orElseThrow();
    private static final Set<String> ONLY_OF_NIO_GROUPS = Set.of("setIoRatio", "rebuildSelectors");
    private static final String NEW_FACTORY = "newFactory";
    private static final String FOR_NAME = "forName";

    /** A class that is left as it is, and why. */
    static final class LeftAsItIs extends Exception {
        private static final long serialVersionUID = 1;

        LeftAsItIs(String reason) {
            super(reason, null, false, false);
        }
    }

    /** A method handle among constants, of which a method of the class itself takes the place. */
    private record Bridge(String name, MethodTypeDesc type, DynamicCallSiteDesc call) {
    }

    private final NettyNames names;
    private final ClassFile classFile;
    private final InterfaceMethods interfaceMethods;
    private final ClassModel model;
    private final List<Bridge> bridges = new ArrayList<>();
    private LeftAsItIs refusal;

    CallerRewriter(NettyNames names, byte[] bytes, ClassHierarchyResolver hierarchy,
            InterfaceMethods interfaceMethods) {
        this.names = names;
        this.interfaceMethods = interfaceMethods;
        model = ClassFile.of().parse(bytes);
        classFile = ClassFile.of(ClassFile.ClassHierarchyResolverOption.of(ofItself(model).orElse(hierarchy)));
    }

    /** A class that was generated while the program runs is no resource of its class loader. */
    private static ClassHierarchyResolver ofItself(ClassModel model) {
        ClassDesc type = model.thisClass().asSymbol();
        boolean isInterface = model.flags().has(AccessFlag.INTERFACE);
        return ClassHierarchyResolver.of(isInterface ? Set.of(type) : Set.of(),
                isInterface || model.superclass().isEmpty() ? Map.of()
                        : Map.of(type, model.superclass().get().asSymbol()));
    }

    /** Returns the bytes of the class rewritten, or null if there is nothing to rewrite. */
    byte[] rewrite() throws LeftAsItIs {
        if (!mentionsTransport()) {
            return null;
        }
        if (model.majorVersion() < OLDEST_MAJOR_VERSION) {
            throw new LeftAsItIs("it was compiled for a Java before 7");
        }
        ClassDesc superclass = model.superclass().map(ClassEntry::asSymbol).orElse(ConstantDescs.CD_Object);
        if (names.kind(superclass) != null) {
            throw new LeftAsItIs("it extends " + superclass.displayName());
        }
        ClassTransform rewriting = ClassTransform
                .transformingMethodBodies(CodeTransform.ofStateful(MethodRewriter::new))
                .andThen(ClassTransform.endHandler(builder -> bridges.forEach(bridge -> builder.withMethodBody(
                        bridge.name, bridge.type, ClassFile.ACC_PRIVATE | ClassFile.ACC_STATIC
                                | ClassFile.ACC_SYNTHETIC, code -> addBridge(code, bridge)))));
        byte[] rewritten = ConstantPoolText.map(classFile.transformClass(model, rewriting), names::mapped);
        if (refusal != null) {
            throw refusal;
        }
        List<VerifyError> errors = classFile.verify(rewritten);
        if (!errors.isEmpty()) {
            throw new LeftAsItIs("it depends on Netty's own class: " + errors.getFirst().getMessage().lines()
                    .findFirst().orElse(""));
        }
        return rewritten;
    }

    private boolean mentionsTransport() {
        for (PoolEntry entry : model.constantPool()) {
            if (entry instanceof ClassEntry type && isOfTransport(type.asSymbol())) {
                return true;
            }
            if (entry instanceof NameAndTypeEntry member && (mentions(member.type().stringValue())
                    || member.name().equalsString(FOR_NAME))) {
                return true;
            }
        }
        return model.methods().stream().anyMatch(method -> mentions(method.methodType().stringValue()))
                || model.fields().stream().anyMatch(field -> mentions(field.fieldType().stringValue()));
    }

    private boolean isOfTransport(ClassDesc type) {
        ClassDesc element = type;
        while (element.isArray()) {
            element = element.componentType();
        }
        return names.kind(element) != null || names.isHandler(element) || names.isMultiThreadGroup(element);
    }

    private boolean mentions(String descriptor) {
        if (!descriptor.contains(names.internalPrefix())) {
            return false;
        }
        if (!descriptor.startsWith("(")) {
            return isOfTransport(ClassDesc.ofDescriptor(descriptor));
        }
        MethodTypeDesc type = MethodTypeDesc.ofDescriptor(descriptor);
        return isOfTransport(type.returnType()) || type.parameterList().stream().anyMatch(this::isOfTransport);
    }

    private void refuse(String reason) {
        if (refusal == null) {
            refusal = new LeftAsItIs(reason);
        }
    }

    private static void addBridge(CodeBuilder code, Bridge bridge) {
        int slot = 0;
        for (ClassDesc parameter : bridge.type.parameterList()) {
            TypeKind kind = TypeKind.from(parameter);
            code.loadLocal(kind, slot);
            slot += kind.slotSize();
        }
        code.invokedynamic(bridge.call).areturn();
    }

    // ---- the calls that take the place of others ----

    private DynamicCallSiteDesc call(String name, MethodTypeDesc type, String... constants) {
        List<ConstantDesc> arguments = new ArrayList<>(List.of(constants));
        arguments.add(names.nettyPackage());
        DirectMethodHandleDesc bootstrap = ConstantDescs.ofCallsiteBootstrap(REPLACEMENTS, name,
                ConstantDescs.CD_CallSite, arguments.stream().map(constant -> ConstantDescs.CD_String)
                        .toArray(ClassDesc[]::new));
        return DynamicCallSiteDesc.of(bootstrap, name, type, arguments.toArray(ConstantDesc[]::new));
    }

    private DynamicCallSiteDesc construct(ClassDesc original, MethodTypeDesc constructor) {
        return call("construct", mapped(constructor).changeReturnType(names.mapped(original)), binaryName(original),
                constructor.descriptorString());
    }

    private DynamicCallSiteDesc newFactory(ClassDesc original, MethodTypeDesc type) {
        return call(NEW_FACTORY, type, binaryName(original));
    }

    private MethodTypeDesc mapped(MethodTypeDesc type) {
        return MethodTypeDesc.of(names.mapped(type.returnType()),
                type.parameterList().stream().map(names::mapped).toList());
    }

    private static String binaryName(ClassDesc type) {
        return type.packageName() + "." + type.displayName();
    }

    private boolean isConstructed(ClassDesc type) {
        return names.kind(type) != null || names.isMultiThreadGroup(type);
    }

    /** Rewrites the body of a method. */
    private final class MethodRewriter implements CodeTransform {
        /** An instruction {@code new} was left out, and the duplication of its result has to follow. */
        private boolean afterNew;
        /** Constructors of this type that follow belong to a {@code new} of this method. */
        private int openNews;

        @Override
        public void accept(CodeBuilder code, CodeElement element) {
            if (afterNew && element instanceof Instruction instruction) {
                afterNew = false;
                if (!(instruction instanceof StackInstruction) || instruction.opcode() != Opcode.DUP) {
                    refuse("it makes a channel or a group in an unusual way");
                }
            }
            switch (element) {
                case NewObjectInstruction made when isConstructed(made.className().asSymbol()) -> {
                    // A constructor's result, as a dynamic call, comes after its arguments: null keeps the place.
                    afterNew = true;
                    openNews++;
                    code.aconst_null();
                }
                case InvokeInstruction call -> rewriteCall(code, call);
                case InvokeDynamicInstruction call -> rewriteHandles(code, call);
                case LoadConstantInstruction load when load.constantEntry() instanceof ClassEntry type
                        && isChannel(type.asSymbol()) -> {
                    code.invokedynamic(call("type", MethodTypeDesc.of(ConstantDescs.CD_Class),
                            binaryName(type.asSymbol())));
                }
                case TypeCheckInstruction check when check.opcode() == Opcode.INSTANCEOF
                        && names.kind(check.type().asSymbol()) == NettyNames.Kind.GROUP -> {
                    code.invokedynamic(call("isInstance", MethodTypeDesc.of(ConstantDescs.CD_boolean,
                            ConstantDescs.CD_Object), binaryName(check.type().asSymbol())));
                }
                default -> code.with(element);
            }
        }

        private boolean isChannel(ClassDesc type) {
            return names.kind(type) != null && names.kind(type) != NettyNames.Kind.GROUP;
        }

        private void rewriteCall(CodeBuilder code, InvokeInstruction call) {
            ClassDesc owner = call.owner().asSymbol();
            String name = call.name().stringValue();
            MethodTypeDesc type = call.typeSymbol();
            if (call.opcode() == Opcode.INVOKESPECIAL && name.equals(ConstantDescs.INIT_NAME) && isConstructed(owner)
                    && openNews > 0) {
                openNews--;
                code.invokedynamic(construct(owner, type)).swap().pop().swap().pop();
            } else if (call.opcode() == Opcode.INVOKESTATIC && name.equals(NEW_FACTORY) && names.isHandler(owner)) {
                code.invokedynamic(newFactory(owner, type));
            } else if (call.opcode() == Opcode.INVOKESTATIC && name.equals(FOR_NAME)
                    && owner.equals(ConstantDescs.CD_Class) && type.parameterType(0).equals(ConstantDescs.CD_String)) {
                code.invokedynamic(call(FOR_NAME, type));
            } else if (call.opcode() == Opcode.INVOKEVIRTUAL && isChannel(owner)) {
                ClassDesc common = names.common(names.kind(owner));
                if (interfaceMethods.has(common, name, type.descriptorString())) {
                    code.invokeinterface(common, name, type);
                } else {
                    refuse("it calls " + owner.displayName() + "." + name + ", which only that class has");
                    code.with(call);
                }
            } else if (call.opcode() == Opcode.INVOKEVIRTUAL && names.kind(owner) != null
                    && ONLY_OF_NIO_GROUPS.contains(name)) {
                code.invokedynamic(call("ofGroup", type.insertParameterTypes(0, names.mapped(owner)),
                        binaryName(owner), name));
            } else {
                requireUnmapped(owner, type);
                code.with(call);
            }
        }

        /** Netty's transports keep the types of their methods. */
        private void requireUnmapped(ClassDesc owner, MethodTypeDesc type) {
            if (names.kind(owner) == null && names.isTransport(binaryName(owner)) && !mapped(type).equals(type)) {
                refuse("it calls a method of " + owner.displayName() + " that wants Netty's own class");
            }
        }

        /** References to constructors and factories are handles among the arguments of a dynamic call. */
        private void rewriteHandles(CodeBuilder code, InvokeDynamicInstruction call) {
            ConstantDesc[] arguments = call.bootstrapArgs().stream().map(this::rewriteHandle)
                    .toArray(ConstantDesc[]::new);
            code.invokedynamic(DynamicCallSiteDesc.of(call.bootstrapMethod(), call.name().stringValue(),
                    call.typeSymbol(), arguments));
        }

        private ConstantDesc rewriteHandle(ConstantDesc argument) {
            if (!(argument instanceof DirectMethodHandleDesc handle)) {
                return argument;
            }
            ClassDesc owner = handle.owner();
            MethodTypeDesc type = MethodTypeDesc.ofDescriptor(handle.lookupDescriptor());
            if (handle.kind() == DirectMethodHandleDesc.Kind.CONSTRUCTOR && isConstructed(owner)) {
                return bridge(construct(owner, type));
            }
            if (handle.kind() == DirectMethodHandleDesc.Kind.STATIC && handle.methodName().equals(NEW_FACTORY)
                    && names.isHandler(owner)) {
                return bridge(newFactory(owner, type));
            }
            if (handle.kind() == DirectMethodHandleDesc.Kind.VIRTUAL && isChannel(owner)) {
                ClassDesc common = names.common(names.kind(owner));
                if (interfaceMethods.has(common, handle.methodName(), handle.lookupDescriptor())) {
                    return MethodHandleDesc.of(DirectMethodHandleDesc.Kind.INTERFACE_VIRTUAL, common,
                            handle.methodName(), handle.lookupDescriptor());
                }
                refuse("it refers to " + owner.displayName() + "::" + handle.methodName());
            }
            return argument;
        }

        private DirectMethodHandleDesc bridge(DynamicCallSiteDesc call) {
            Bridge bridge = new Bridge("rdmaraw$" + bridges.size(), call.invocationType(), call);
            bridges.add(bridge);
            return MethodHandleDesc.of(model.flags().has(AccessFlag.INTERFACE)
                    ? DirectMethodHandleDesc.Kind.INTERFACE_STATIC : DirectMethodHandleDesc.Kind.STATIC,
                    model.thisClass().asSymbol(), bridge.name, bridge.type.descriptorString());
        }
    }
}
