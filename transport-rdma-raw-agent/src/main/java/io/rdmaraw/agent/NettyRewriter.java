package io.rdmaraw.agent;

import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassElement;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeModel;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.FieldModel;
import java.lang.classfile.Label;
import java.lang.classfile.MethodModel;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DynamicCallSiteDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Rewrites the classes of Netty that create event loops, and the class that creates channels by reflection. Each
 * affected method gets a prologue that calls {@link Replacements} for an object of the transport. Without such an
 * object, the original code runs. Names, types and members of the classes do not change.
 */
final class NettyRewriter {
    private static final String NEW_FACTORY = "newFactory";
    private static final String NEW_CHILD = "newChild";
    private static final String NEW_CHANNEL = "newChannel";
    private static final String REBUILD_SELECTORS = "rebuildSelectors";
    private static final String REGISTER = "register";
    private static final String CONSTRUCTOR_FIELD = "constructor";

    private final NettyNames names;
    private final ClassFile classFile;

    NettyRewriter(NettyNames names, ClassHierarchyResolver hierarchy) {
        this.names = names;
        classFile = ClassFile.of(ClassFile.ClassHierarchyResolverOption.of(hierarchy));
    }

    /** Returns the rewritten class. */
    byte[] rewrite(byte[] bytes) {
        ClassModel model = classFile.parse(bytes);
        ClassDesc type = model.thisClass().asSymbol();
        ClassTransform transform = names.isHandler(type)
                ? withPrologue(this::isNewFactory, this::writeNewFactoryPrologue)
                : type.equals(names.channelFactory()) ? withPrologue(method -> isNewChannel(model, method),
                        (method, code) -> writeNewChannelPrologue(model, code))
                : withPrologue(NettyRewriter::isGroupMethod, this::writeGroupPrologue);
        if (names.isMultiThreadGroup(type)) {
            transform = transform.andThen(ClassTransform.endHandler(builder -> addRegister(model, builder)));
        }
        return classFile.transformClass(model, transform);
    }

    private interface Prologue {
        void write(MethodModel method, CodeBuilder code);
    }

    private static ClassTransform withPrologue(Predicate<MethodModel> selected, Prologue prologue) {
        return (ClassBuilder builder, ClassElement element) -> {
            if (element instanceof MethodModel method && method.code().isPresent() && selected.test(method)) {
                builder.transformMethod(method, (part, piece) -> {
                    if (piece instanceof CodeModel code) {
                        part.transformCode(code, prologueTransform(start -> prologue.write(method, start)));
                    } else {
                        part.with(piece);
                    }
                });
            } else {
                builder.with(element);
            }
        };
    }

    private static CodeTransform prologueTransform(Consumer<CodeBuilder> prologue) {
        return new CodeTransform() {
            @Override
            public void atStart(CodeBuilder code) {
                prologue.accept(code);
            }

            @Override
            public void accept(CodeBuilder code, CodeElement element) {
                code.with(element);
            }
        };
    }

    private boolean isNewFactory(MethodModel method) {
        return method.flags().has(AccessFlag.STATIC) && method.methodName().equalsString(NEW_FACTORY);
    }

    /** Adds the prologue. A selector provider that the program has chosen remains in use. */
    private void writeNewFactoryPrologue(MethodModel method, CodeBuilder code) {
        MethodTypeDesc type = method.methodTypeSymbol();
        if (type.parameterCount() > 0 && type.parameterType(0).equals(NettyNames.SELECTOR_PROVIDER)) {
            code.aload(0);
        } else {
            code.aconst_null();
        }
        linkReplacement(code, "ownFactory", MethodTypeDesc.of(type.returnType(), NettyNames.SELECTOR_PROVIDER));
        returnUnlessNull(code);
    }

    private static boolean isNewChannel(ClassModel model, MethodModel method) {
        return method.methodName().equalsString(NEW_CHANNEL) && !method.flags().has(AccessFlag.SYNTHETIC)
                && constructorField(model) != null;
    }

    private static FieldModel constructorField(ClassModel model) {
        return model.fields().stream().filter(field -> field.fieldName().equalsString(CONSTRUCTOR_FIELD)
                && field.fieldTypeSymbol().equals(NettyNames.CONSTRUCTOR)).findFirst().orElse(null);
    }

    private void writeNewChannelPrologue(ClassModel model, CodeBuilder code) {
        code.aload(0).getfield(model.thisClass().asSymbol(), CONSTRUCTOR_FIELD, NettyNames.CONSTRUCTOR);
        linkReplacement(code, "ownChannel", MethodTypeDesc.of(names.channel(), NettyNames.CONSTRUCTOR));
        returnUnlessNull(code);
    }

    private static boolean isGroupMethod(MethodModel method) {
        return method.methodName().equalsString(NEW_CHILD) && method.methodTypeSymbol().parameterCount() == 3
                && !method.flags().has(AccessFlag.SYNTHETIC)
                || method.methodName().equalsString(REBUILD_SELECTORS)
                && method.methodTypeSymbol().parameterCount() == 0;
    }

    private void writeGroupPrologue(MethodModel method, CodeBuilder code) {
        MethodTypeDesc type = method.methodTypeSymbol();
        code.aload(0);
        if (method.methodName().equalsString(REBUILD_SELECTORS)) {
            Label original = code.newLabel();
            linkReplacement(code, "isOwnGroup", MethodTypeDesc.of(ConstantDescs.CD_boolean, ConstantDescs.CD_Object));
            code.ifeq(original).return_().labelBinding(original);
        } else {
            code.aload(1).aload(2).aload(3);
            linkReplacement(code, "ownLoop", type.insertParameterTypes(0, ConstantDescs.CD_Object));
            returnUnlessNull(code);
        }
    }

    /**
     * Adds methods that register an accepted connection with the loop that receives its segments, as the transport's
     * own group does.
     */
    private void addRegister(ClassModel model, ClassBuilder builder) {
        for (ClassDesc argument : new ClassDesc[] {names.channel(), names.channelPromise()}) {
            MethodTypeDesc type = MethodTypeDesc.of(names.channelFuture(), argument);
            if (model.methods().stream().anyMatch(method -> method.methodName().equalsString(REGISTER)
                    && method.methodTypeSymbol().equals(type))) {
                continue;
            }
            builder.withMethodBody(REGISTER, type, ClassFile.ACC_PUBLIC, code -> {
                Label none = code.newLabel();
                code.aload(0).aload(1);
                if (argument.equals(names.channelPromise())) {
                    code.invokeinterface(argument, "channel", MethodTypeDesc.of(names.channel()));
                }
                linkReplacement(code, "receivingLoop", MethodTypeDesc.of(names.eventLoop(), ConstantDescs.CD_Object,
                        ConstantDescs.CD_Object));
                code.dup().ifnull(none).aload(1).invokeinterface(names.eventLoop(), REGISTER, type).areturn()
                        .labelBinding(none).pop().aload(0).aload(1)
                        .invokespecial(model.superclass().orElseThrow().asSymbol(), REGISTER, type)
                        .return_(TypeKind.REFERENCE);
            });
        }
    }

    private static void returnUnlessNull(CodeBuilder code) {
        Label none = code.newLabel();
        code.dup().ifnull(none).areturn().labelBinding(none).pop();
    }

    private void linkReplacement(CodeBuilder code, String methodName, MethodTypeDesc type) {
        code.invokedynamic(DynamicCallSiteDesc.of(ConstantDescs.ofCallsiteBootstrap(
                Replacements.class.describeConstable().orElseThrow(), "link", ConstantDescs.CD_CallSite,
                ConstantDescs.CD_String), methodName, type, names.nettyPackage()));
    }
}
