"""The phrases that ask for something routine.

Written as mead/router/words.py says.
"""

from typing import Final

from mead.router.routines import (
    CREATION,
    FORM,
    GIVEN,
    LABEL,
    LANGUAGE,
    MATERIAL,
    MEASURE,
    NOTHING,
    PART,
    POINTED_AT,
    SAID,
    STATE,
    SWITCHED,
    THING,
    THING_OR_LIST,
    WHOLE,
    Routine,
)
from mead.router.words import entries

ROUTINES: Final = (
    Routine(
        reason="asks for formatting",
        need=MATERIAL,
        takes_text=True,
        phrases=entries("""
            format, reformat, pretty print, prettify, indent, align, sort, alphabetize
            alphabetise, number, capitalize, capitalise, uppercase, lowercase, tidy up
            deduplicate, dedupe, remove duplicates, remove the duplicates, remove all duplicates
            reverse

            formata, formate, formatar, ordena, ordene, ordenar, indenta, indente, alinha, alinhe
            numera, numere, numerar, remove os duplicados, remova os duplicados
            tira os duplicados, tire os duplicados, elimina os duplicados

            da formato, de formato, dale formato, formatea, formatee, formatear, alinea
            elimina los duplicados, quita los duplicados, elimine los duplicados
        """),
    ),
    Routine(
        reason="asks for formatting",
        need=FORM,
        takes_text=True,
        phrases=entries("""
            make, put, turn, convert, change, write, set, transform, poe, ponha, coloca, coloque
            passa, passe, transforma, transforme, escreve, escreva, converte, converta, converter
            muda, mude, faz, pon, ponga, poner, pasa, pase, cambia, cambie, convierte, convierta
            convertir, haz, escribe, escriba
        """),
    ),
    Routine(
        reason="asks for extraction",
        need=POINTED_AT,
        takes_text=True,
        phrases=entries("""
            extract, pull out, pick out, count, which names appear, which dates appear, extrai
            extraia, extrair, retira, retire, conta, conte, contar, extrae, extraiga, extraer
            saca, saque, cuenta, cuente
        """),
    ),
    Routine(
        reason="asks for extraction",
        need=PART,
        takes_text=True,
        phrases=entries("""
            find, find all, get, list, list all, show, show me, give me, copy, encontra, encontre
            procura, procure, lista, liste, mostra, mostre, da me, encuentra, encuentre, busca
            busque, muestra, muestre, dame
        """),
    ),
    Routine(
        reason="asks for triage",
        need=POINTED_AT,
        takes_text=True,
        phrases=entries("""
            classify, categorize, categorise, label, tag, triage, flag, prioritize, prioritise
            which category, classifica, classifique, classificar, categoriza, categorizar
            etiqueta, etiquete, rotula, rotule, prioriza, priorize, que categoria, clasifica
            clasifique, clasificar, categorice, etiquetar, priorice
        """),
    ),
    Routine(
        reason="asks for triage",
        need=LABEL,
        takes_text=True,
        demands=False,
        phrases=entries("is, are, este, esta, isto, e, es, esto, estos, estas"),
    ),
    Routine(
        reason="asks for a short rewrite",
        need=POINTED_AT,
        takes_text=True,
        phrases=entries("""
            rewrite, rephrase, reword, paraphrase, shorten, proofread, spell check, spellcheck
            fix the spelling, fix the grammar, fix the typos, fix the punctuation, fix typos
            fix spelling, fix grammar, correct the spelling, correct the grammar, correct this
            correct the typos, correct the punctuation, correct these, check the spelling
            check the grammar, polish, make it shorter

            reescreve, reescreva, reescrever, encurta, encurte, encurtar, abrevia, abrevie
            reformula, reformule, parafraseia, parafraseie, corrige, corrija, corrigir

            reescribe, reescriba, reescribir, acorta, acorte, acortar, parafrasea, corregir
        """),
    ),
    Routine(
        reason="asks for a short rewrite",
        need=GIVEN,
        takes_text=True,
        phrases=entries("""
            summarize, summarise, sum up, condense, simplify, resume, resuma, resumir, sintetiza
            simplifica, simplifique, sumariza, resumelo, sintetice
        """),
    ),
    Routine(
        reason="asks for a translation",
        need=LANGUAGE,
        takes_text=True,
        phrases=entries("""
            translate, how do you say, how do i say, how to say, how can i say, traduz, traduza
            traduzir, como se diz, como digo, como e que se diz, traduce, traduzca, traducir
            traduceme, como se dice, como dicen
        """),
    ),
    Routine(
        reason="asks for a translation",
        need=SAID,
        phrases=entries("say, diz, di"),
    ),
    Routine(
        reason="asks for a lookup",
        need=NOTHING,
        leads=False,
        phrases=entries("""
            what time is it, what is the time, what s the time, what day is, what date is
            todays date, today s date, the date today, s the date, is the date today
            what time is my, what time does, tell me the time, tell me what time, tell me what day
            what time it is, the time in, the weather in, the weather today, the weather tomorrow
            weather forecast, weather like, will it rain, the capital of, the population of
            the area code of, the exchange rate, the phone number of, the address of
            the opening hours of, the postal code of, stand for, stands for, give me a synonym for
            give me synonyms for, synonym for, synonym of, synonyms for, antonym of, antonym for
            definition of, how do you spell, how is it spelled, how to spell

            que horas sao, que hora e, que dia e, a que horas e, data de hoje, o tempo em
            o tempo hoje, o tempo amanha, que tempo faz, previsao do tempo, vai chover
            a capital de, a capital do, a capital da, populacao de, populacao do, populacao da
            taxa de cambio, numero de telefone de, numero de telefone do, numero de telefone da
            sinonimo de, antonimo de, definicao de, como se escreve, como se soletra

            que hora es, que dia es, a que hora es, fecha de hoy, que tiempo hace, el tiempo en
            pronostico del tiempo, va a llover, la capital de, la capital del, poblacion de
            tipo de cambio, numero de telefono de, numero de telefono del, definicion de
            como se escribe, como se deletrea
        """),
    ),
    Routine(
        reason="asks for a lookup",
        need=NOTHING,
        phrases=entries("look up, lookup"),
    ),
    Routine(
        reason="asks for a lookup",
        need=WHOLE,
        demands=False,
        phrases=entries("define, definition, spell, soletra, soletre, deletrea, defina"),
    ),
    Routine(
        reason="asks for a lookup",
        need=MEASURE,
        phrases=entries("""
            convert, converte, converta, converter, convierte, convierta, convertir
        """),
    ),
    Routine(
        reason="asks for a lookup",
        need=THING,
        phrases=entries("""
            find, find me, search, search for, look for, locate, get, fetch, show, show me
            display, read, list, list all, tell me the, where is, where s, where are, when is
            when s, when are, what is my, what s my, what is on my, what s on my, what is in my
            what s in my, what are my, how many unread, how many new, how many emails
            how many messages, how many files, do i have any, do i have

            procura, procure, procurar, busca, busque, buscar, pesquisa, pesquise, pesquisar
            encontra, encontre, encontrar, mostra, mostre, mostrar, mostra me, mostre me, lista
            liste, listar, le, leia, diz me o, diz me a, da me o, da me a, onde esta, onde estao
            quando e, quando sao, qual e o meu, qual e a minha, quais sao os meus
            quais sao as minhas, quantos emails, quantas mensagens, quantos ficheiros
            quantos arquivos

            encuentra, muestra, muestrame, muestre, dame el, dame la, dime el, dime la, lee, lea
            donde esta, donde estan, cuando es, cuando son, cual es mi, cuales son mis
            cuantos correos, cuantos mensajes, cuantos archivos
        """),
    ),
    Routine(
        reason="asks for a lookup",
        need=THING_OR_LIST,
        phrases=entries("""
            show my, show me my, list my, read my, mostra a minha, mostra o meu, mostra os meus
            mostra as minhas, lista os meus, lista as minhas, muestra mi, muestra mis, lista mis
        """),
    ),
    Routine(
        reason="asks for a status check",
        need=THING,
        phrases=entries("""
            check, check if, check whether, verify, ping, monitor, verifica, verifique, verificar
            confere, confira, ve se, veja se, comprueba, compruebe, comprobar, revisa si, mira si
            chequea
        """),
    ),
    Routine(
        reason="asks for a status check",
        need=THING,
        leads=False,
        demands=False,
        phrases=entries("""
            status of, the state of, any new, any unread, estado de, estado do, estado da
            estado dos, estado das, status de, status do, status da, situacao do, situacao da
            ha novas, ha novos, ha mensagens, ha emails, alguma mensagem, estado del, hay nuevos
            hay nuevas, hay mensajes, hay correos, algun mensaje
        """),
    ),
    Routine(
        reason="asks for a status check",
        need=NOTHING,
        leads=False,
        phrases=entries("""
            git status, system status, server status, build status, service status, battery level
            disk space, free space, memory usage, cpu usage, espaco em disco, nivel da bateria
            nivel de bateria, espacio en disco, uso de memoria
        """),
    ),
    Routine(
        reason="asks for a status check",
        need=WHOLE,
        demands=False,
        phrases=entries("status, estado, uptime, ping"),
    ),
    Routine(
        reason="asks for a status check",
        need=STATE,
        demands=False,
        phrases=entries("""
            is, are, did, has, have, does, was, o, a, os, as, esta, estao, esta o, esta a, ja, el
            la, los, las, estan, ya, ha
        """),
    ),
    Routine(
        reason="gives a command",
        need=THING_OR_LIST,
        carries=True,
        phrases=entries("""
            send, forward, add, append, save, envia, envie, manda, mande, adiciona, adicione
            acrescenta, acrescente, guarda, guarde, salva, salve, anade, anada, anadir, agrega
            agregue
        """),
    ),
    Routine(
        reason="gives a command",
        need=THING_OR_LIST,
        phrases=entries("""
            open, close, start, stop, restart, reboot, pause, resume, run, execute, delete, remove
            rename, move, copy, download, upload, print, mute, unmute, play, skip, turn on
            turn off, turn up, turn down, switch on, switch off, lock, unlock, cancel, schedule
            book, call, dial, archive, mark, clear, empty, refresh

            abre, abra, abrir, fecha, feche, fechar, inicia, inicie, reinicia, reinicie, parar
            pare, pausa, executa, corre, corra, roda, rode, apaga, apague, apagar, elimina
            elimine, exclui, exclua, remova, renomeia, renomeie, mova, copia, copie

            descarrega, descarregue, baixa, baixe, imprime, imprima, toca, toque, liga, ligue
            desliga, desligue, acende, acenda, cancela, cancele, marca, marque, agenda, agende
            silencia, arquiva, arquive

            cierra, cierre, cerrar, deten, detenga, ejecuta, ejecute, borra, borre, borrar, quita
            renombra, renombre, mueve, mueva, descarga, descargue, reproduce, pon, ponga, enciende
            encienda, encender, programa, archiva, sube, baja
        """),
    ),
    Routine(
        reason="gives a command",
        need=SWITCHED,
        phrases=entries("turn, switch"),
    ),
    Routine(
        reason="gives a command",
        need=CREATION,
        phrases=entries("""
            create, make, make me, set, set up, add, start, start a, cria, crie, criar, faz
            define, defina, definir, poe, ponha, inicia, inicie, crea, cree, crear, haz, pon
            ponga, programa
        """),
    ),
    Routine(
        reason="gives a command",
        need=NOTHING,
        takes_text=True,
        free=True,
        phrases=entries("""
            remind me to, remind me at, remind me in, remind me on, remind me tomorrow
            remind me about, wake me, take a note, lembra me de, lembre me de, lembra me que
            lembre me que, me lembra de, me lembre de, acorda me, acorde me, toma nota, recuerdame
            recuerdeme, despiertame
        """),
    ),
)
